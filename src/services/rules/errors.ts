import { defineError } from '../../kernel/errors.ts'

export const NoRule = defineError<{ id: string }>(
  'no_such_rule',
  404,
  'There is no rule {id}, or the caller may not read it',
)
export const NoRuleVersion = defineError<{ id: string; version: number }>(
  'no_such_rule_version',
  404,
  'Rule {id} has no version {version}; the last 100 versions are kept',
)
export const NoAction = defineError<{ type: string; id: string }>(
  'no_such_action',
  404,
  'There is no {type} action {id}, or the caller may not read it',
)
export const NoTrigger = defineError<{ type: string; id: string }>(
  'no_such_trigger',
  404,
  'There is no {type} trigger {id}, or the caller may not read it',
)
export const NoActionType = defineError<{ type: string }>('no_such_action_type', 404, 'There is no action type {type}')
export const NoTriggerType = defineError<{ type: string }>(
  'no_such_trigger_type',
  404,
  'There is no trigger type {type}',
)
export const NoAlertSetting = defineError<{ id: string }>(
  'no_such_alert_setting',
  404,
  'There is no alert setting {id}, or the caller may not read it',
)
export const NoSnippet = defineError<{ id: string }>(
  'no_such_snippet',
  404,
  'There is no snippet {id}, or the caller may not read it',
)
export const NoSecret = defineError<{ id: string }>(
  'no_such_secret',
  404,
  'There is no secret {id}, or the caller may not read it',
)
export const SecretNameTaken = defineError<{ name: string }>(
  'secret_name_taken',
  409,
  'Another secret has the name {name}',
)
export const PartOfAlertSetting = defineError<{ id: string; alertSettingId: string }>(
  'part_of_alert_setting',
  409,
  '{id} belongs to alert setting {alertSettingId}; change or delete the alert setting',
)
export const TooManyDefinitions = defineError<{ limit: number }>(
  'too_many_definitions',
  400,
  'The rules, actions and triggers of the tenant have more than {limit} bytes together; delete rules, actions or triggers, or make their scripts shorter',
)
export const ScriptsBusy = defineError(
  'too_many_scripts',
  429,
  'Too many scripts of this tenant are waiting; try again',
  { 'retry-after': '1' },
)
export const NoAlert = defineError<{ alertId: string }>(
  'no_such_alert',
  404,
  'There is no alert {alertId}, or the caller may not read it',
)
/** Thrown if an alert cannot be activated. The action that activates the alert then fails with the problem as its reason. */
export const AlertRefused = defineError<{ problem: string }>('alert_refused', 409, '{problem}')
export const NoDeadLetter = defineError<{ id: string }>(
  'no_such_dead_letter',
  404,
  'There is no dead letter {id}, or the caller may not read its rule',
)
export const NoReplay = defineError<{ id: string }>('no_such_replay', 404, 'There is no replay {id} of this rule')
export const ReplayEnded = defineError('replay_ended', 409, 'The replay has ended; it cannot be canceled')
export const TooManyReplays = defineError(
  'too_many_replays',
  429,
  'Two replays of this tenant are running; try again when one has ended',
  { 'retry-after': '10' },
)
