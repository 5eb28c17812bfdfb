/** Sends webhooks: a POST request with the id of the delivery. If the action names a secret, the request is signed. */
import { createHmac } from 'node:crypto'
import type { Clock } from '../../../kernel/clock.ts'
import type { SafeConnections } from '../../../kernel/safe-connections.ts'
import { RefusedAddress } from '../../../kernel/safe-fetch.ts'
import type { AttemptOutcome, Send } from './model.ts'

/** The content of a webhook. */
export interface WebhookContent {
  url: string
  headers: Record<string, string>
  body: string
  /** The key of the signature. If absent, the request is not signed. */
  signingKey?: string
}

export interface WebhookSenderDeps {
  connections: SafeConnections
  now: Clock
  timeoutMs: number
}

/** Returns the value of X-Waypost-Signature: the HMAC-SHA256 of `<seconds>.<body>`. */
export function signatureOf(key: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`
}

export function createWebhookSender({ connections, now, timeoutMs }: WebhookSenderDeps): Send {
  return async ({ id, tenantId }, content): Promise<AttemptOutcome> => {
    const { url, headers, body, signingKey } = JSON.parse(content) as WebhookContent
    const seconds = Math.floor(now().getTime() / 1000)
    const waypostHeaders = {
      'x-waypost-delivery': id,
      ...(signingKey !== undefined && { 'x-waypost-signature': signatureOf(signingKey, seconds, body) }),
    }
    try {
      const status = await connections.send(tenantId, url, {
        method: 'POST',
        headers: { ...headers, ...waypostHeaders },
        body,
        timeoutMs,
      })
      if (status >= 200 && status < 300) return { ok: true, status }
      const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
      return { ok: false, status, reason: `the receiver answered ${status}${redirect}`, isFinal: false }
    } catch (error) {
      if (error instanceof RefusedAddress)
        return { ok: false, reason: `the address is refused: ${error.message}`, isFinal: true }
      return { ok: false, reason: reasonOf(error), isFinal: false }
    }
  }
}

/** Describes the error of a connection. The text does not contain the address, because its path may contain a secret. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined || message.includes(code) ? message : `${message} (${code})`
}
