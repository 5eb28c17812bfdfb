/**
 * Sends e-mails over SMTP. STARTTLS is used if the server offers it. WAYPOST_SMTP_URL contains the credentials. The library is loaded at
 * first use.
 */
import type { Transporter } from 'nodemailer'
import type { PlatformSettings } from './settings.ts'

const connectionsMax = 5

export type MailMessage = Parameters<Transporter['sendMail']>[0]

export interface Mailer {
  readonly isConfigured: boolean
  /** Returns the sender's address. It is known only when the listeners are open, because it may contain the host of the base URL. */
  from(): string
  /** Sends a message with this installation as the sender. Throws the error of the mail server. */
  send(message: MailMessage): Promise<{ rejected: unknown[] }>
  stop(): void
}

export function createMailer({ url, from }: PlatformSettings['mail'], baseUrl: () => string): Mailer {
  let opening: Promise<ReturnType<typeof open>> | undefined
  let transport: ReturnType<typeof open> | undefined
  const sender = () => from ?? `waypost@${new URL(baseUrl()).hostname}`

  async function load() {
    const { createTransport } = await import('nodemailer')
    transport = open(createTransport, url!)
    return transport
  }

  return {
    isConfigured: url !== undefined,
    from: sender,
    async send(message) {
      if (url === undefined) throw new Error(noMailServer)
      opening ??= load()
      const { rejected } = await (await opening).sendMail({ from: sender(), ...message })
      return { rejected }
    },
    stop: () => transport?.close({ force: true }),
  }
}

export const noMailServer = 'no mail server is configured; the operator sets WAYPOST_SMTP_URL'

const open = (createTransport: typeof import('nodemailer')['createTransport'], url: string) =>
  createTransport({
    url,
    pool: true,
    maxConnections: connectionsMax,
    // The library must not retry, because the callers do.
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
