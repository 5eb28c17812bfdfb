/** Sends e-mails over SMTP: STARTTLS where the server offers it, authentication from the setting. */
import type { AttemptOutcome, Retries, Send } from './model.ts'

/** The content of an e-mail, checked. */
export interface EmailContent {
  to: string[]
  subject: string
  text: string
  isHtml: boolean
  /** `payload` is base64. */
  attachment?: { fileName: string; type: string; payload: string }
}

export interface EmailSettings {
  url: string
  from: string
}

/** 5.11: three attempts for answers of 4xx or none. */
export const defaultEmailRetries: Retries = { attemptsMax: 3, waitMs: 5000, waitFactor: 3 }

const connectionsMax = 5

export interface EmailSender {
  send: Send
  stop(): void
}

/** `settings` is a function, because the base URL is known only once the listeners are open. */
export function createEmailSender(settings: () => EmailSettings | undefined): EmailSender {
  let transport: Awaited<ReturnType<typeof open>> | undefined
  return {
    async send({ id }, content): Promise<AttemptOutcome> {
      const known = settings()
      if (!known) return { ok: false, reason: noMailServer, isFinal: true }
      transport ??= await open(known.url)
      try {
        const { rejected } = await transport.sendMail(messageOf(id, known.from, JSON.parse(content)))
        if (rejected.length === 0) return { ok: true, status: 250 }
        // The others have got the e-mail, so it is not sent again.
        return { ok: false, reason: `the mail server refused ${rejected.map(String).join(', ')}`, isFinal: true }
      } catch (error) {
        return outcomeOfError(error)
      }
    },
    stop: () => transport?.close({ force: true }),
  }
}

export const noMailServer = 'no mail server is configured; the operator sets WAYPOST_SMTP_URL'

/** The library is loaded with the first e-mail, because it takes 5 MB of memory and most platforms send none. */
async function open(url: string) {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    url,
    pool: true,
    maxConnections: connectionsMax,
    // Attempts are counted and stored by the deliveries.
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

const messageOf = (id: string, from: string, { to, subject, text, isHtml, attachment }: EmailContent) => ({
  from,
  to,
  subject,
  // The same for every attempt, so that mail programs show a repeated message once.
  messageId: `<${id}@${from.replace(/^.*@|>$/g, '')}>`,
  ...(isHtml ? { html: text } : { text }),
  ...(attachment && {
    attachments: [
      {
        filename: attachment.fileName,
        contentType: attachment.type,
        content: attachment.payload,
        encoding: 'base64' as const,
        contentDisposition: 'attachment' as const,
      },
    ],
  }),
})

function outcomeOfError(error: unknown): AttemptOutcome {
  const { responseCode, response, message } = error as { responseCode?: number; response?: string; message: string }
  if (responseCode === undefined)
    return { ok: false, reason: `the mail server did not answer: ${message}`, isFinal: false }
  const text = (response ?? message).slice(0, 500)
  return { ok: false, status: responseCode, reason: `the mail server answered ${text}`, isFinal: responseCode >= 500 }
}
