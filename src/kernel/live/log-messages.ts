import { defineLogMessage } from '../define-log-message.ts'

export const liveInterestUnacknowledged = defineLogMessage({
  level: 'warn',
  text: 'announcing topics of live streams to a node failed; its events may be missing in the streams here',
  cause: 'The node is overloaded, starting, stopping or cut off from the database; or it died a moment ago.',
  action: 'Nothing if it happens once: the streams get a gap. If it repeats, look at the log and load of that node.',
})

export const liveInterestsUnread = defineLogMessage({
  level: 'warn',
  text: 'reading the interests of a node in live topics failed; events are forwarded to it after its next announcement',
  cause: 'The node did not respond within a second: it is overloaded, starting, stopping or cut off from the database.',
  action: 'Nothing if it happens once. If it repeats, look at the log and load of that node.',
})

export const liveReadFailed = defineLogMessage({
  level: 'warn',
  text: 'reading the events of a topic failed; streams get them late, retrying',
  cause: 'The database did not answer.',
  action: 'Nothing if it happens once. If it repeats, check the database and its connections.',
})
