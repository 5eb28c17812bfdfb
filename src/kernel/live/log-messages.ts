import { defineLogMessage } from '../define-log-message.ts'

export const liveInterestUnacknowledged = defineLogMessage({
  level: 'warn',
  text: 'could not announce topics of live streams to a node; events of that node may be missing in the streams of this node',
  cause: 'The node is overloaded, starting, stopping or cut off from the database; or it died a moment ago.',
  action:
    'Nothing if this message appears once: the streams get a gap. If this message repeats, look at the log and load of that node.',
})

export const liveInterestsUnread = defineLogMessage({
  level: 'warn',
  text: 'could not read the interests of a node in live topics; this node forwards no events to that node until that node announces its interests',
  cause: 'The node did not respond within a second: it is overloaded, starting, stopping or cut off from the database.',
  action: 'Nothing if this message appears once. If this message repeats, look at the log and load of that node.',
})

export const liveReadFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read the events of a topic; streams get these events late, retrying',
  cause: 'The database did not answer.',
  action: 'Nothing if this message appears once. If this message repeats, check the database and its connections.',
})
