/** Log messages at warn and above of the HTTP server. */
import { defineLogMessage } from '../define-log-message.ts'

export const requestFailed = defineLogMessage({
  level: 'error',
  text: 'request failed',
  cause:
    'A request got a response with a status of 500 or more. `err` is the error: the database is unreachable, overloaded or full, or the platform has a bug.',
  action:
    'Check the database if `err` names it. Otherwise report it with the lines of the same `correlationId`, which the response contains too.',
})

export const otherServerFailed = defineLogMessage({
  level: 'warn',
  text: 'request failed, because a server of the user did not answer as expected',
  cause:
    'A request got a response with status 502: a server that a user has configured, such as a LoRaWAN network, was unreachable, slow, or answered with an error.',
  action:
    'Nothing: the platform works. The user can check the address and the state of the server; `err` says what failed.',
})

export const secondAddressFailed = defineLogMessage({
  level: 'warn',
  text: 'could not listen on one of the addresses of localhost; continuing with the other address',
  cause: 'WAYPOST_HOST is localhost, and another process listens on the port at 127.0.0.1 or ::1.',
  action: 'End the other process or set WAYPOST_HOST to one address; otherwise some clients reach the other process.',
})

export const unreadResponsesEnded = defineLogMessage({
  level: 'warn',
  text: 'closed the connections of the slowest readers, because too many bytes of responses wait for their clients',
  cause:
    'Clients request large responses and read them slowly, or do not read them. The responses of all clients together may have `bytesMax` bytes in memory.',
  action:
    'Find the clients by their addresses if this message repeats, and read large lists in smaller pages. Clients that read fast are not affected.',
})
