import { ConfigurationError, defineSettings } from './settings.ts'

export const mailSettings = defineSettings(
  {
    SMTP_URL: {
      kind: 'url',
      default: undefined,
      secret: true,
      meaning:
        'mail server for e-mail actions of rules and for the reset of passwords: `smtp://user:password@host:587` (STARTTLS ' +
        'where the server offers it) or `smtps://…:465`; without a mail server, e-mail actions fail and passwords cannot be reset by users',
    },
    SMTP_FROM: {
      kind: 'text',
      default: undefined,
      meaning: 'sender of e-mails; default: `waypost@` and the host of the base URL',
    },
  },
  (value) => ({ url: checkedUrl(value.SMTP_URL), from: value.SMTP_FROM }),
)

/** Checks the scheme. The message does not repeat the address, because it may contain a password. */
function checkedUrl(url: string | undefined): string | undefined {
  if (url === undefined || /^smtps?:\/\/[^/]/i.test(url)) return url
  throw new ConfigurationError('WAYPOST_SMTP_URL is not valid; expected smtp://host:port or smtps://host:port')
}
