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
    ALERTS_PER_TENANT: {
      kind: 'integer',
      default: '1000000',
      range: [1, 1_000_000_000],
      meaning: 'maximum number of alerts that a tenant has, open and resolved; further activations fail',
    },
    RULES_MB_PER_TENANT: {
      kind: 'integer',
      default: '64',
      range: [1, 65_536],
      meaning:
        'megabytes of rules, actions and triggers that a tenant may have; every node keeps the definitions of all tenants in memory',
    },
  },
  (value) => ({
    webhookTimeoutSeconds: value.WEBHOOK_TIMEOUT_SECONDS,
    traceDays: value.TRACE_DAYS,
    alertDays: value.ALERT_DAYS,
    alertsPerTenant: value.ALERTS_PER_TENANT,
    definitionBytesPerTenant: value.RULES_MB_PER_TENANT * 1024 * 1024,
  }),
)
export type RulesSettings = SettingsOf<typeof rulesSettings>
