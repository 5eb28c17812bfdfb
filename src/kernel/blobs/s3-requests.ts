/** Signed requests to an S3-compatible store, with retries. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { type Clock, sleep } from '../clock.ts'
import type { S3Settings } from './blobs.ts'
import { encodeQuery, encodeRfc3986, sha256Of, sign } from './signature.ts'

const attemptsMax = 4
const timeoutMs = 60_000

/** The address of a store and the connections to it. */
export interface S3Store {
  settings: S3Settings
  now: Clock
  host: string
  hostname: string
  port: string
  secure: boolean
  /** The agent is created for the first request, so that a platform without uploads opens no sockets. */
  agent: HttpAgent | undefined
}

export function openStore(settings: S3Settings, now: Clock): S3Store {
  const { protocol, host, hostname, port } = new URL(settings.origin)
  return { settings, now, host, hostname, port, secure: protocol === 'https:', agent: undefined }
}

export interface S3Request {
  method: string
  /** Path within the bucket; empty for the bucket itself. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array[]
}

export class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly status: number

  constructor(status: number, request: S3Request, text: string) {
    const code = xmlValue(text, 'Code') ?? text.slice(0, 200)
    super(`The S3 store answered ${status} to ${request.method} ${request.path || 'the bucket'}: ${code}`)
    this.status = status
  }
}

/** Returns the response with its body unread. Temporary failures are retried, since all requests are idempotent. */
export async function sendWithRetries(
  store: S3Store,
  request: S3Request,
  accepted: number[],
): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt++) {
    let problem: Error
    try {
      const response = await send(store, request)
      if (accepted.includes(response.statusCode!)) return response
      problem = new S3Error(response.statusCode!, request, (await buffer(response)).toString('utf8'))
      if (response.statusCode! < 500 && response.statusCode !== 429) throw problem
    } catch (error) {
      if (error instanceof S3Error && error.status < 500 && error.status !== 429) throw error
      problem = error as Error
    }
    if (attempt === attemptsMax) throw problem
    await sleep(100 * 4 ** (attempt - 1))
  }
}

/** Sends the request and returns the body of the response as text. */
export const requestText = async (store: S3Store, request: S3Request, accepted: number[]) =>
  (await buffer(await sendWithRetries(store, request, accepted))).toString('utf8')

function send(store: S3Store, request: S3Request): Promise<IncomingMessage> {
  const { settings, now, host, hostname, port, secure } = store
  const { method, path, query = {}, headers = {}, body = [] } = request
  const fullPath = `/${[settings.bucket, ...path.split('/')]
    .filter((step) => step !== '')
    .map(encodeRfc3986)
    .join('/')}`
  const length = body.reduce((sum, piece) => sum + piece.length, 0)
  const signed = sign({ method, host, path: fullPath, query, headers, bodyHash: sha256Of(...body) }, settings, now())
  store.agent ??= secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
  const queryText = encodeQuery(query)
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? requestHttps : requestHttp)(
      {
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port,
        method,
        path: queryText === '' ? fullPath : `${fullPath}?${queryText}`,
        headers: { ...signed, 'content-length': String(length) },
        agent: store.agent!,
        timeout: timeoutMs,
      },
      (response) => {
        // From here on, a pause may come from a slow reader, so the time-out is switched off.
        outgoing.setTimeout(0)
        resolve(response)
      },
    )
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error(`The S3 store did not answer for ${timeoutMs / 1000} s`)))
    for (const piece of body) outgoing.write(piece)
    outgoing.end()
  })
}

/** Returns the text of an XML element, unescaped. The responses of S3 that this client reads have no nested elements and no attributes. */
export function xmlValue(xml: string, name: string): string | undefined {
  const value = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return value?.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
