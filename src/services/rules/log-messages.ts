import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const sandboxFailed = defineLogMessage({
  level: 'error',
  text: 'the sandbox failed; the scripts that it ran fail or run again',
  cause: 'A host function of a script failed, or a thread of the sandbox died.',
  action: 'Report the error with its text; the sandbox replaces the thread itself.',
})
export const loadingRulesFailed = defineLogMessage({
  level: 'error',
  text: 'could not read the rules of a tenant; retrying in 1 s',
  cause: 'The database did not answer.',
  action: 'Check the database. Until then events of the tenant are stored and wait.',
})

export const deliveryFailed = defineLogMessage({
  level: 'error',
  text: 'could not handle a webhook or e-mail; the message stays stored, and is sent after the next start or by another node',
  cause: 'The database did not answer, or a stored request could not be opened with the data key.',
  action: 'Check the database. If this message repeats, report this problem with the error.',
})
export const waitingEventsFailed = defineLogMessage({
  level: 'error',
  text: 'could not read or store waiting events of rules; retrying',
  cause: 'The database did not answer, or the process is stopping.',
  action: 'Check the database. The events stay stored until they have run.',
})
export const runOfRuleFailed = defineLogMessage({
  level: 'error',
  text: 'could not run a rule because of the platform; retrying, up to five attempts in total',
  cause: 'The database did not answer, or an action failed unexpectedly; `err` has the reason.',
  action: 'Look at the error. After five attempts the event becomes a dead letter, which users can retry.',
})
export const tickFailed = defineLogMessage({
  level: 'error',
  text: 'could not start the rules of a schedule; the ticks of the schedule are lost unless another node runs the rules',
  cause: 'The database did not answer.',
  action: 'Check the database. The next ticks run as planned.',
})
export const replayFailed = defineLogMessage({
  level: 'error',
  text: 'a replay of a rule failed; the replay is not repeated',
  cause: 'The database did not answer, or the sandbox could not run the rule.',
  action: 'Look at the error; the user can start the replay again.',
})
export const partitionsFailed = defineLogMessage({
  level: 'error',
  text: 'could not create the partitions of traces; the periodic task retries within an hour',
  cause: 'The database did not answer.',
  action: 'Check the database. Traces wait in memory until their partition exists.',
})
