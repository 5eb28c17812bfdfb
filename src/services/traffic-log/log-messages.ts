import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const refusalsFailed = defineLogMessage({
  level: 'error',
  text: 'writing refusals to the traffic log failed; retrying in 1 s',
  cause: 'PostgreSQL rejected the write or is unreachable. `refusals` is the number of rows.',
  action: 'Check the database. Refusals stay in memory until a write succeeds; beyond 400 rows they are summed up.',
})

export const refusalsLost = defineLogMessage({
  level: 'error',
  text: 'writing refusals to the traffic log failed during shutdown; they are lost',
  cause: 'PostgreSQL rejected the last write or is unreachable. `refusals` is the number of rows.',
  action:
    'Nothing: refusals are informational. If it happens at every stop, check that the database stops after the platform.',
})
