/** Log messages at warn and above of the gateway. */
import { defineLogMessage } from '../kernel/define-log-message.ts'

const databaseUnavailable = 'The database was unavailable or refused the query; `err` says which.'

export const connectionRecheckFailed = defineLogMessage({
  level: 'error',
  text: 'could not check open connections after a change of permissions; retrying',
  cause: `${databaseUnavailable} \`remaining\` connections, endpoints or tenants are not checked yet.`,
  action: 'Check the database. Until a check succeeds, clients whose permissions have ended may stay connected.',
})

export const queuedMessagesNotRead = defineLogMessage({
  level: 'error',
  text: 'could not read messages queued by another node; retrying within a minute or at the next CONNECT',
  cause: databaseUnavailable,
  action: 'Nothing: the messages stay in the session. Check the database if this message repeats.',
})

export const sessionNotReleased = defineLogMessage({
  level: 'warn',
  text: 'a node did not release a session in time; using the session as it was last stored',
  cause:
    'A client connected to this node while node `holder` had its connection, and that node did not answer within 1.5 s.',
  action: 'Check node `holder` and its connection to the database. Clients may get unacknowledged messages again.',
})

export const pushOnConnectFailed = defineLogMessage({
  level: 'error',
  text: 'could not send the pushes of an extension to a newly connected endpoint; not retried',
  cause: 'The extension, or the database behind it, failed; `err` says how.',
  action: 'Look at the error. The endpoint gets the pushes when it connects again or asks for them.',
})

export const certificateNotIssued = defineLogMessage({
  level: 'error',
  text: 'could not issue the certificate of MQTT over TLS; closing the connection',
  cause: 'The certificate authority of the platform, or the database with its key, failed; `err` says how.',
  action: 'Check the database. The next connection tries again.',
})

export const extensionConnectivityFailed = defineLogMessage({
  level: 'error',
  text: 'could not report connectivity to an extension; giving up',
  cause: 'The extension failed four times, or the node is stopping; `err` says how.',
  action: 'Look at the error. The connectivity series of these endpoints lacks the reported changes.',
})

export const extensionConnectivityRetried = defineLogMessage({
  level: 'warn',
  text: 'could not report connectivity to an extension; retrying',
  cause: 'The extension, or the database behind it, failed; `err` says how.',
  action: 'Nothing, unless this message repeats: the report is sent up to four times.',
})

export const connectivityNotPublished = defineLogMessage({
  level: 'error',
  text: 'could not publish endpoint connectivity; retrying',
  cause: databaseUnavailable,
  action: 'Check the database if this message repeats. Changes are kept in memory and reported later.',
})

export const deviceMessageFailed = defineLogMessage({
  level: 'error',
  text: 'could not handle a message of a device; the device gets an error with status 500 or 503',
  cause: 'The extension failed, or the database was unavailable; `err` says how.',
  action: 'Look at the error; `correlationId` finds the message in the traffic log.',
})

export const subscriberLookupFailed = defineLogMessage({
  level: 'warn',
  text: 'could not look up the endpoint of a subscription; the endpoint is not bound to the connection',
  cause: databaseUnavailable,
  action: 'Nothing: the next message of the device binds the endpoint. Check the database if this message repeats.',
})

export const forwardedPushLost = defineLogMessage({
  level: 'error',
  text: 'a forwarded push was lost',
  cause: 'The endpoint left this node before the push arrived, and looking up its new node failed.',
  action: 'Check the database. The sender gets the outcome `offline` and may send the push again.',
})

export const pushLost = defineLogMessage({
  level: 'error',
  text: 'a push was lost because looking up its endpoint failed',
  cause:
    'The endpoint disconnected while the push was sent, and the node of the endpoint could not be read from the database.',
  action: 'Check the database. The sender gets the outcome `offline` and may send the push again.',
})
