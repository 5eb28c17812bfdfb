/** Derives the rules, triggers and actions of an alert setting. All functions are pure. */
import type { ActionType, TriggerType, ValueType } from '../model.ts'

export interface AlertSettingFields {
  name: string
  description?: string | undefined
  state?: 'ENABLED' | 'DISABLED' | undefined
  alertType: string
  severityLevel: string
  appName?: string | undefined
  appVersionName?: string | undefined
  endpointIds?: string[] | undefined
  activationExpression: string
  resolutionExpression?: string | undefined
  message?: string | undefined
  emailRecipients?: string[] | undefined
  webhookUrl?: string | undefined
  uiMetadata?: string | undefined
}

export type PartName =
  | 'rule'
  | 'trigger'
  | 'activation'
  | 'resolution'
  | 'noticeRule'
  | 'noticeTrigger'
  | 'email'
  | 'webhook'

export type Part =
  | { table: 'rules'; columns: { name: string; expression: string; state: string } }
  | { table: 'triggers'; type: TriggerType; columns: { name: string; fields: object } }
  | {
      table: 'actions'
      type: ActionType
      columns: { name: string; fields: object; valueTypes: Record<string, ValueType> }
    }

/** The links of each rule to its triggers and actions, in order. */
export const partLinks: {
  rule: PartName
  triggers: PartName[]
  positive: PartName[]
  negative: PartName[]
}[] = [
  { rule: 'rule', triggers: ['trigger'], positive: ['activation'], negative: ['resolution'] },
  { rule: 'noticeRule', triggers: ['noticeTrigger'], positive: ['email', 'webhook'], negative: [] },
]

/** Returns the parts of an alert setting. The parts for notices exist only if the setting has recipients or a webhook. */
export function partsOf(id: string, settingFields: AlertSettingFields): Partial<Record<PartName, Part>> {
  const { name, alertType, severityLevel, message, state = 'ENABLED' } = settingFields
  const expression = ruleExpression(settingFields.activationExpression, settingFields.resolutionExpression)
  const alert = { alertType, entityType: 'ENDPOINT' }
  const activation = { ...alert, severityLevel, ...(message !== undefined && { message }) }
  const email = emailPart(settingFields)
  const webhook = webhookPart(settingFields)
  return {
    rule: { table: 'rules', columns: { name, expression, state } },
    trigger: { table: 'triggers', type: 'endpoint-data-samples-received', columns: { name, fields: {} } },
    activation: { table: 'actions', type: 'alert-activation', columns: { name, fields: activation, valueTypes: {} } },
    resolution: { table: 'actions', type: 'alert-resolution', columns: { name, fields: alert, valueTypes: {} } },
    ...((email || webhook) && {
      noticeRule: { table: 'rules', columns: { name, expression: noticeExpression(id), state } },
      noticeTrigger: {
        table: 'triggers',
        type: 'alert-lifecycle-event',
        columns: { name, fields: { alertTypes: [alertType], eventTypes: ['ACTIVATED', 'RESOLVED'] } },
      },
    }),
    ...(email && { email }),
    ...(webhook && { webhook }),
  }
}

/**
 * Returns the script of the rule that activates and resolves the alert. Without `resolution`, the activation script alone decides: false
 * resolves the alert. Otherwise `resolution` runs if `activation` returns false, null or undefined, and resolves the alert if it returns
 * any other value.
 */
export const ruleExpression = (activation: string, resolution: string | undefined) =>
  resolution === undefined
    ? activation
    : `const activation = (() => {${activation}
})()
if (activation !== false && activation !== null && activation !== undefined) return true
const resolution = (() => {${resolution}
})()
return resolution !== false && resolution !== null && resolution !== undefined ? false : null`

/** The rules of an alert setting: one activates and resolves the alert, the other sends the notices. */
export const ruleParts = ['ALERT', 'NOTICES'] as const
export type RulePart = (typeof ruleParts)[number]

/** Returns which part of the alert setting a rule is. Both rules of a setting have its name, but their scripts differ. */
export const rulePartOf = (settingId: string, expression: string): RulePart =>
  expression === noticeExpression(settingId) ? 'NOTICES' : 'ALERT'

/**
 * Returns the script of the rule that sends notices. Other rules may open alerts of the same type; notices are sent only for alerts of this
 * setting.
 */
const noticeExpression = (id: string) =>
  `return ctx.trigger.alertLifecycleEvent.alert.alertSettingId === '${id}' ? true : null`

const subject = `const { eventType, alert } = ctx.trigger.alertLifecycleEvent
const opened = eventType === 'ACTIVATED'
return (opened ? 'Alert: ' : 'Resolved: ') + alert.alertType + ' (' + alert.severityLevel + ')'`

const text = `const { eventType, alert } = ctx.trigger.alertLifecycleEvent
const opened = eventType === 'ACTIVATED'
return [
  (opened ? 'An alert was opened.' : 'An alert was resolved.'),
  '',
  'Type: ' + alert.alertType,
  'Severity: ' + alert.severityLevel,
  'Endpoint: ' + alert.entityId,
  'Message: ' + (alert.message ?? '-'),
  'Started: ' + alert.startedAt,
  ...(opened ? [] : ['Resolved: ' + alert.resolvedAt]),
].join('\\n')`

const emailPart = ({ name, emailRecipients = [] }: AlertSettingFields): Part | undefined =>
  emailRecipients.length === 0
    ? undefined
    : {
        table: 'actions',
        type: 'send-email',
        columns: {
          name,
          fields: {
            recipientsExpression: JSON.stringify(emailRecipients),
            subjectExpression: subject,
            textExpression: text,
            contentType: 'TEXT',
          },
          valueTypes: { recipientsExpression: 'LITERAL', subjectExpression: 'SCRIPT', textExpression: 'SCRIPT' },
        },
      }

const webhookPart = ({ name, webhookUrl }: AlertSettingFields): Part | undefined =>
  webhookUrl === undefined
    ? undefined
    : {
        table: 'actions',
        type: 'webhook',
        columns: {
          name,
          fields: {
            webhookUrl,
            webhookPayloadExpression:
              'const { eventType, alert } = ctx.trigger.alertLifecycleEvent\nreturn { eventType, alert }',
            retryConfig: { maxAttempts: 3, timeoutMs: 1000, backoffMultiplier: 2 },
          },
          valueTypes: { webhookUrl: 'LITERAL', webhookPayloadExpression: 'SCRIPT' },
        },
      }
