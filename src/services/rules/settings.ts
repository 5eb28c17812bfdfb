import { daysOrForEver, defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const rulesSettings = defineSettings(
  {
    WEBHOOK_TIMEOUT_SECONDS: {
      kind: 'integer',
      default: '10',
      range: [1, 3600],
      meaning: 'seconds that an attempt of a webhook has, from connecting to the end of the response headers',
    },
    TRACE_DAYS: {
      kind: 'integer',
      default: '7',
      range: daysOrForEver,
      meaning: 'days that traces of rules and actions are kept; 0: for ever',
    },
    ALERT_DAYS: {
      kind: 'integer',
      default: '90',
      range: daysOrForEver,
      meaning: 'days that resolved alerts are kept; 0: for ever',
    },
  },
  (value) => ({
    webhookTimeoutSeconds: value.WEBHOOK_TIMEOUT_SECONDS,
    traceDays: value.TRACE_DAYS,
    alertDays: value.ALERT_DAYS,
  }),
)
export type RulesSettings = SettingsOf<typeof rulesSettings>
