import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const rulesSettings = defineSettings(
  {
    WEBHOOK_TIMEOUT_SECONDS: {
      kind: 'integer',
      default: '10',
      meaning: 'seconds that an attempt of a webhook has, from connecting to the end of the response headers',
    },
    SMTP_URL: {
      kind: 'url',
      default: undefined,
      secret: true,
      meaning:
        'mail server for e-mail actions of rules: `smtp://user:password@host:587` (STARTTLS where the server offers it) or ' +
        '`smtps://…:465`; without it e-mail actions fail',
    },
    SMTP_FROM: {
      kind: 'text',
      default: undefined,
      meaning: 'sender of e-mails; default: `waypost@` and the host of the base URL',
    },
    TRACE_DAYS: {
      kind: 'integer',
      default: '7',
      meaning: 'days that traces of rules and actions are kept; 0: for ever',
    },
    ALERT_DAYS: {
      kind: 'integer',
      default: '90',
      meaning: 'days that resolved alerts are kept; 0: for ever',
    },
  },
  (value) => ({
    webhookTimeoutSeconds: value.WEBHOOK_TIMEOUT_SECONDS,
    smtp: { url: value.SMTP_URL, from: value.SMTP_FROM },
    traceDays: value.TRACE_DAYS,
    alertDays: value.ALERT_DAYS,
  }),
)
export type RulesSettings = SettingsOf<typeof rulesSettings>
