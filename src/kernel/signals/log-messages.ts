/** Log messages at warn and above of signals. */
import { defineLogMessage } from '../define-log-message.ts'

export const signalHandlerFailed = defineLogMessage({
  level: 'error',
  text: 'a signal handler failed; the handler does not get the signal again',
  cause: 'A service threw an error while it handled a signal; `topic` is the name of the signal.',
  action: 'Report this problem with the error. A restart of the node resets what the handler keeps in memory.',
})

export const resetListenerFailed = defineLogMessage({
  level: 'error',
  text: 'a listener for lost signals failed; its cache may be outdated',
  cause: 'A service threw an error while it reset its caches after signals may have been lost.',
  action: 'Restart the node, and report this problem with the error.',
})

export const signingKeyReadFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read the signing key of signals; keeping the previous key',
  cause: 'A signal did not verify with the known key, and the database did not return the current key.',
  action: 'Nothing if the database was unreachable for a moment; the key is read again with the next such signal.',
})

export const signatureInvalid = defineLogMessage({
  level: 'warn',
  text: 'a signal has no valid signature; dropping it',
  cause: 'Another program sent a notification on a channel of Waypost, or a node uses another signing key.',
  action: 'Find out which program sends notifications on channels that start with `waypost_` in this database.',
})

export const sendingFailed = defineLogMessage({
  level: 'warn',
  text: 'could not send signals; stored signals are sent again, signals that are not stored are lost',
  cause: 'The database rejected the statement that sends a batch. `lost` counts messages that were not stored.',
  action: 'Check the database if this message repeats. Caches reset themselves when the connection was lost.',
})

export const sweepFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read stored signals; retrying in 2 s',
  cause: 'The database did not answer the query for stored signals that were not sent.',
  action: 'Nothing if the database was unreachable for a moment; otherwise check the database.',
})

export const checksFailed = defineLogMessage({
  level: 'warn',
  text: 'could not check the database for changes whose signals were lost; retrying within a second',
  cause:
    'The database did not answer the query that all nodes repeat. Until the database answers, this node may run older versions of rules.',
  action: 'Nothing if the database was unreachable for a moment; otherwise check the database.',
})

export const removingHandledFailed = defineLogMessage({
  level: 'warn',
  text: 'could not remove a handled signal; the signal may be handled again',
  cause: 'The database did not delete the row of a signal that this node has handled.',
  action: 'Nothing: handlers accept repeated signals.',
})

export const joinUnanswered = defineLogMessage({
  level: 'warn',
  text: 'other nodes did not answer the start of this node; they notice the start with their next heartbeat',
  cause: 'The listed nodes are overloaded, have just stopped, or cannot reach the database.',
  action:
    'Nothing if this message appears once. If a listed node stays silent, check its log and its database connection.',
})
