/** Log messages at warn and above of the MQTT layer and its session store. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

const databaseUnavailable = 'The database was unavailable or refused the query; `err` says which.'

export const sessionCheckFailed = defineLogMessage({
  level: 'error',
  text: 'could not compare open MQTT sessions with the database; retrying',
  cause: databaseUnavailable,
  action:
    'Check the database if this message repeats. Until a comparison succeeds, a client may be connected to two nodes.',
})

export const queueRecheckFailed = defineLogMessage({
  level: 'error',
  text: 'could not check the permissions of queued messages; retrying',
  cause: databaseUnavailable,
  action: 'Check the database if this message repeats. The messages are checked again until a check succeeds.',
})

export const sessionRefreshFailed = defineLogMessage({
  level: 'error',
  text: 'could not extend the expiry of connected MQTT sessions; retrying in a minute',
  cause: databaseUnavailable,
  action: 'Check the database. Sessions with a short expiry may be deleted although their clients are connected.',
})

export const publishFailed = defineLogMessage({
  level: 'error',
  text: 'could not store a message or subscription of an MQTT client; closing its connection without an acknowledgement',
  cause: 'The database was unavailable, or the platform has a bug; `err` says which.',
  action: 'Check the database. The client sends the message again after it reconnects.',
})

export const sessionNotSaved = defineLogMessage({
  level: 'error',
  text: 'could not save or delete the session of a disconnected MQTT client; its latest changes are lost',
  cause: databaseUnavailable,
  action: 'Check the database. The client may get messages twice or lose queued pushes.',
})

export const packetFailed = defineLogMessage({
  level: 'error',
  text: 'could not handle an MQTT packet; closing the connection',
  cause: 'The platform has a bug.',
  action: 'Report this problem with the error. Other connections are not affected.',
})

export const disconnectNotReported = defineLogMessage({
  level: 'error',
  text: 'could not handle the end of an MQTT connection; endpoints may be shown as connected',
  cause: 'The platform has a bug.',
  action: 'Report this problem with the error.',
})

export const connectFailed = defineLogMessage({
  level: 'error',
  text: 'could not handle a CONNECT; the client is refused',
  cause: 'The database was unavailable, or the platform has a bug; `err` says which.',
  action: 'Check the database. Clients connect again on their own.',
})

export const holderNotRemoved = defineLogMessage({
  level: 'warn',
  text: 'could not remove a closed MQTT connection from the database; its row remains until the client reconnects',
  cause: databaseUnavailable,
  action: 'Nothing: the next CONNECT of the client, or the stop of this node, replaces the row.',
})

export const sessionReleaseFailed = defineLogMessage({
  level: 'warn',
  text: 'could not release a session to another node; that node continues after a time-out',
  cause: databaseUnavailable,
  action: 'Nothing: the other node uses the session as it was last stored.',
})

export const messageNotDeleted = defineLogMessage({
  level: 'warn',
  text: 'could not delete a delivered or dropped message from its session; the client may get it again',
  cause: databaseUnavailable,
  action: 'Nothing: MQTT clients expect repeated messages at QoS 1.',
})

export const subscriptionsUnreadable = defineLogMessage({
  level: 'error',
  text: 'could not decrypt the subscriptions of a session; the session is treated as new',
  cause: 'The session was stored with another data key, for example before a restore.',
  action: 'Nothing: the client subscribes again. Check the data key if this message appears for many sessions.',
})
