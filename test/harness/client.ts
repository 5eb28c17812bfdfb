/** HTTP client for tests over real sockets. */
import { Agent, request } from 'node:http'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  body: any
  text: string
  headers: Headers
}

export type Ask = (operation: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/**
 * Returns a function that sends requests: `const ask = client(baseUrl, { authorization: … })`, then `ask('POST /api/v1/applications', {
 * name: 'a' })`.
 */
export function client(baseUrl: string, defaultHeaders: Record<string, string> = {}): Ask {
  return async (operation, body, headers = {}) => {
    const space = operation.indexOf(' ')
    const sent = body === undefined ? undefined : bytesAndTypeOf(body)
    const response = await exchange(
      operation.slice(0, space),
      new URL(baseUrl + operation.slice(space + 1)),
      sent?.bytes,
      {
        ...(sent?.type && { 'content-type': sent.type }),
        ...defaultHeaders,
        ...headers,
      },
    )
    const { text } = response
    const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
    return { ...response, body: isJson ? JSON.parse(text) : undefined }
  }
}

/** Returns the bytes and the content type that `fetch` would send for this body. Values that `fetch` does not accept are sent as JSON. */
function bytesAndTypeOf(body: unknown): { bytes: Uint8Array; type?: string } {
  if (body instanceof Uint8Array) return { bytes: body }
  if (typeof body === 'string') return { bytes: Buffer.from(body), type: 'text/plain;charset=UTF-8' }
  if (body instanceof URLSearchParams)
    return { bytes: Buffer.from(String(body)), type: 'application/x-www-form-urlencoded;charset=UTF-8' }
  return { bytes: Buffer.from(JSON.stringify(body)), type: 'application/json' }
}

const agent = new Agent({ keepAlive: true })

/**
 * Maximum bytes of a body that is sent with `node:http`. The server may reject a larger body before it is complete, and only `fetch` reads
 * the response in this case.
 */
const smallBytes = 64 * 1024

type Response = Pick<Answer, 'status' | 'text' | 'headers'>

/** Sends a request with `node:http` and reads the response. `fetch` would take twice the processor time. */
async function exchange(
  method: string,
  url: URL,
  body: Uint8Array | undefined,
  headers: Record<string, string>,
): Promise<Response> {
  if (url.protocol !== 'http:' || (body && body.length > smallBytes)) {
    const response = await fetch(url, { method, redirect: 'manual', headers, ...(body && { body: body as never }) })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const length =
    body || ['POST', 'PUT', 'PATCH'].includes(method) ? { 'content-length': String(body?.length ?? 0) } : {}
  return await new Promise((resolve, reject) => {
    const sending = request(url, { agent, method, headers: { ...length, ...headers } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const received = new Headers()
        for (let n = 0; n < response.rawHeaders.length; n += 2)
          received.append(response.rawHeaders[n]!, response.rawHeaders[n + 1]!)
        resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString(), headers: received })
      })
    })
    sending.on('error', reject)
    sending.end(body)
  })
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export interface Grant {
  [field: string]: string
}

/** Calls the token endpoint of a realm as an OAuth client does. */
export const requestToken = (baseUrl: string, tenantId: string, grant: Grant): Promise<Answer> =>
  client(baseUrl)(`POST /auth/realms/${tenantId}/protocol/openid-connect/token`, new URLSearchParams(grant))

export async function tokenOf(baseUrl: string, tenantId: string, grant: Grant): Promise<string> {
  const answer = await requestToken(baseUrl, tenantId, grant)
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`)
  return answer.body.access_token
}
