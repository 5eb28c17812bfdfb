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

export const secondAddressFailed = defineLogMessage({
  level: 'warn',
  text: 'listening on one of the addresses of localhost failed; continuing without it',
  cause: 'WAYPOST_HOST is localhost, and another process listens on the port at 127.0.0.1 or ::1.',
  action: 'End the other process or set WAYPOST_HOST to one address; otherwise some clients reach the other process.',
})
