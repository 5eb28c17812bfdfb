import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const interestUnacknowledged = defineLogMessage({
  level: 'warn',
  text: 'could not announce live streams to a node; points that are stored on that node may be missing in live streams of this node',
  cause: 'The node is overloaded, starting, stopping or cut off from the database; or it died a moment ago.',
  action:
    'Nothing if this message appears once: the streams get a gap event. If this message repeats, look at the log and load of that node.',
})

export const interestsUnread = defineLogMessage({
  level: 'warn',
  text: 'could not read the live streams of a node; this node forwards points to that node after its next announcement',
  cause: 'The node did not respond within a second: it is overloaded, starting, stopping or cut off from the database.',
  action: 'Nothing if this message appears once. If this message repeats, look at the log and load of that node.',
})

export const recheckFailed = defineLogMessage({
  level: 'warn',
  text: 'could not check the permissions of a live stream; retrying in 1 s',
  cause: 'The database did not answer; the stream continues with the permissions of the last check.',
  action: 'If this message repeats, check the database and its connections.',
})

export const connectivityNotStored = defineLogMessage({
  level: 'warn',
  text: 'could not store connectivity as a series; the points are dropped',
  cause: 'The points can never be stored, for example because the application has the maximum number of series.',
  action:
    'Read the error: raise WAYPOST_SERIES_PER_APPLICATION, or correct the series name in the configuration of epl.',
})

export const latestValuesUnsaved = defineLogMessage({
  level: 'warn',
  text: 'could not save latest values; retrying',
  cause: 'The database did not answer. The values stay in memory, and the samples themselves are stored.',
  action: 'If this message repeats, check the database and its connections.',
})

export const latestValuesUnsavedAtStop = defineLogMessage({
  level: 'warn',
  text: 'could not save latest values at shutdown; another node, or the next start, completes the table',
  cause: 'The database did not answer while the node stopped.',
  action: 'Nothing: the mark of the node says which samples have to be read again.',
})

export const retentionIgnored = defineLogMessage({
  level: 'warn',
  text: 'parts of the retention of an application are invalid; the invalid parts delete nothing',
  cause: 'The configuration of epts has a retention that is not a number of days.',
  action: 'Correct the retention of the application that the fields name.',
})

export const packingFailed = defineLogMessage({
  level: 'error',
  text: 'could not pack time series; retrying in 10 s',
  cause: 'A statement failed: the database did not answer, or has no space left.',
  action: 'Read the error. Samples stay readable, but their table grows until packing succeeds.',
})

export const placeSeriesUnread = defineLogMessage({
  level: 'warn',
  text: 'could not read which series has the places of endpoints; the place in a sample is not shown on the map until the next sample',
  cause: 'The database did not answer.',
  action: 'Nothing if this message appears once. If this message repeats, check the database and its connections.',
})
