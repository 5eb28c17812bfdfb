/** Sends the e-mails of actions. */
import { type Mailer, noMailServer } from '../../../kernel/mail.ts'
import type { AttemptOutcome, Retries, Send } from './model.ts'

/** The content of an e-mail after validation. */
export interface EmailContent {
  to: string[]
  subject: string
  text: string
  isHtml: boolean
  /** `payload` is base64. */
  attachment?: { fileName: string; type: string; payload: string }
}

/** Three attempts if the mail server answers 4xx or does not answer (document 5, 5.11). */
export const defaultEmailRetries: Retries = { attemptsMax: 3, waitMs: 5000, waitFactor: 3 }

export interface EmailSender {
  send: Send
  stop(): void
}

export function createEmailSender(mailer: Mailer): EmailSender {
  return {
    async send({ id }, content): Promise<AttemptOutcome> {
      if (!mailer.isConfigured) return { ok: false, reason: noMailServer, isFinal: true }
      try {
        const { rejected } = await mailer.send(messageOf(id, mailer.from(), JSON.parse(content)))
        if (rejected.length === 0) return { ok: true, status: 250 }
        // The other recipients have received the e-mail, so it is not sent again.
        return { ok: false, reason: `the mail server refused ${rejected.map(String).join(', ')}`, isFinal: true }
      } catch (error) {
        return outcomeOfError(error)
      }
    },
    stop: mailer.stop,
  }
}

const messageOf = (id: string, from: string, { to, subject, text, isHtml, attachment }: EmailContent) => ({
  from,
  to,
  subject,
  // Every attempt uses the same message id, so that mail programs show a repeated message only once.
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
