import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const refusalsFailed = defineLogMessage({
  level: 'error',
  text: 'could not write refusals to the traffic log; retrying in 1 s',
  cause: 'PostgreSQL rejected the write or is unreachable. `refusals` is the number of rows.',
  action:
    'Check the database. Refusals stay in memory until a write succeeds; beyond 400 rows, refusals are summed up.',
})

export const refusalsLost = defineLogMessage({
  level: 'error',
  text: 'could not write refusals to the traffic log during shutdown; the refusals are lost',
  cause: 'PostgreSQL rejected the last write or is unreachable. `refusals` is the number of rows.',
  action:
    'Nothing: refusals are informational. If this message appears at every stop, check that the database stops after the platform.',
})

export const oldestHourDeleted = defineLogMessage({
  level: 'warn',
  text: 'the traffic log is larger than its limit; the records of the oldest hour were deleted',
  cause:
    'The packed records take more than `WAYPOST_TRAFFIC_LOG_BYTES`. `since` is the start of the hour; `records` and `bytes` are the numbers of deleted records and bytes.',
  action:
    'Nothing, if the log may be shorter than `WAYPOST_TRAFFIC_LOG_DAYS`. Otherwise raise the limit, or set a lower `level` in the configuration `al` of applications with much traffic.',
})
