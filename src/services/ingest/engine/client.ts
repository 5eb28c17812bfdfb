/** Sends requests to the search engine. The operator sets its address, so it may be an address of a private network. */

export interface EngineAnswer {
  status: number
  text: string
}

export interface Engine {
  /** Sends a request. Throws if the search engine does not answer in time. `body` is JSON text, or lines of JSON texts. */
  request(method: string, path: string, body: string, signal?: AbortSignal): Promise<EngineAnswer>
}

const timeoutMs = 30_000
/** Maximum size of an answer. It is enough for 10,000 documents. */
const answerBytesMax = 64 * 1024 * 1024

export function createEngine(url: string): Engine {
  const { username, password, origin, pathname } = new URL(url)
  const root = origin + pathname.replace(/\/+$/, '')
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(username !== '' && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
  }
  return {
    async request(method, path, body, signal) {
      const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]
      const type = path.startsWith('/_bulk') ? { 'content-type': 'application/x-ndjson' } : {}
      const response = await fetch(root + path, {
        method,
        headers: { ...headers, ...type },
        body,
        redirect: 'error',
        signal: AbortSignal.any(limits),
      })
      return { status: response.status, text: await readText(response) }
    },
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > answerBytesMax) throw new Error(`the answer has more than ${answerBytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Returns the reason why a request failed. The text does not contain the address, which may contain a password. */
export function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  const cause = error.cause as { code?: string; message?: string } | undefined
  return cause?.code ?? cause?.message ?? error.message
}

/** Returns the reason in an error response. */
export function reasonOf({ status, text }: EngineAnswer): string {
  try {
    const { error } = JSON.parse(text) as { error?: { reason?: string; root_cause?: { reason?: string }[] } | string }
    if (typeof error === 'string') return error
    const reason = error?.root_cause?.[0]?.reason ?? error?.reason
    if (reason !== undefined) return reason
  } catch {
    // The response of a proxy is not JSON.
  }
  return `status ${status}`
}
