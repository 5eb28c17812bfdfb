/**
 * A `fetch` over node:http for the command line. Loading the built-in `fetch` takes 80 ms of processor time, more than the rest of a
 * command. An `import` of node:http would load `fetch` too, because an import reads all exports of a module, and one of them loads it;
 * `getBuiltinModule` reads no exports.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Readable } from 'node:stream'
import { WaypostError } from '../../../sdk/src/errors.ts'
import { boundedBuffer, largerThan } from './bounded-buffer.ts'

/** Maximum size of a response that is kept in memory. Pages of lists are smaller; files and CSV are streamed. */
const textBytesMax = 200 * 1024 * 1024

/** If a server does not answer within this time, a terminal shows which server the command waits for. */
const noticeAfterMs = 5000

/** Starts to wait for an answer of the host. Returns the function that ends the wait. */
function startWait(host: string): () => void {
  const notice = () => void import('./wait-notice.ts').then(({ noticeWait }) => noticeWait(host))
  const timer = setTimeout(notice, noticeAfterMs).unref()
  return () => clearTimeout(timer)
}

const answerTooLarge = () => new WaypostError(largerThan('The answer', textBytesMax), { code: 'unreadable' })

type Encoding = 'gzip' | 'br'

/** The parts of `Response` that the SDK uses. */
interface NodeResponse {
  status: number
  ok: boolean
  type: 'basic'
  headers: { get(name: string): string | null }
  body: ReadableStream<Uint8Array> | null
  text(): Promise<string>
}

export const nodeFetch = (async (address: string, init: RequestInit = {}): Promise<NodeResponse> => {
  const url = new URL(address)
  const { request: open } =
    url.protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
  const headers: Record<string, string> = { ...(init.headers as Record<string, string>) }
  // On the same machine, compression would only take time.
  if (!isLoopback(url.hostname)) headers['accept-encoding'] = 'br, gzip'
  const options: RequestOptions = { method: init.method ?? 'GET', headers }
  let isEnded = false
  let endWait = () => {}
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = open(url, options, resolve)
    // An upload can take long without a slow server, so its wait starts when the body was sent.
    const start = () => {
      if (!isEnded) endWait = startWait(url.host)
    }
    if (isStream(init.body)) request.once('finish', start)
    else start()
    request.on('error', (error) => reject(init.signal?.aborted ? init.signal.reason : error))
    // Node.js closes the connection without an error if the server switches to another protocol.
    request.on('close', () => reject(new Error('the connection was closed without an answer')))
    abortWith(request, init.signal)
    sendBody(request, init.body).catch((error) => request.destroy(error))
  }).finally(() => {
    isEnded = true
    endWait()
  })
  return responseOf(response)
}) as unknown as typeof fetch

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host)

function abortWith(request: ClientRequest, signal: AbortSignal | null | undefined) {
  if (!signal) return
  const abort = () => request.destroy(signal.reason)
  if (signal.aborted) return abort()
  signal.addEventListener('abort', abort, { once: true })
  request.once('close', () => signal.removeEventListener('abort', abort))
}

type Body = RequestInit['body']

const isStream = (body: Body): body is Exclude<Body, string | ArrayBufferView<ArrayBuffer> | null | undefined> =>
  body !== undefined && body !== null && typeof body !== 'string' && !ArrayBuffer.isView(body)

async function sendBody(request: ClientRequest, body: Body) {
  if (!isStream(body)) return void request.end(body ?? undefined)
  const { Readable, promises } = process.getBuiltinModule('node:stream')
  await promises.pipeline(Readable.fromWeb(body as never), request)
}

function responseOf(response: IncomingMessage): NodeResponse {
  const { statusCode: status = 0, headers } = response
  const hasBody = status !== 204 && status !== 304
  if (!hasBody) response.resume()
  const bytes = decoded(response, headers['content-encoding'] as Encoding | undefined)
  let web: ReadableStream<Uint8Array> | undefined
  return {
    status,
    ok: status >= 200 && status < 300,
    type: 'basic',
    headers: {
      get(name) {
        const value = headers[name]
        return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
      },
    },
    get body() {
      if (!hasBody) return null
      web ??= process.getBuiltinModule('node:stream').Readable.toWeb(bytes) as ReadableStream<Uint8Array>
      return web
    },
    async text() {
      return (await boundedBuffer(bytes, textBytesMax, answerTooLarge)).toString()
    },
  }
}

/** Decompresses a body. If the connection breaks, both streams end with the error. */
function decoded(response: IncomingMessage, encoding: Encoding | undefined): Readable {
  if (encoding !== 'gzip' && encoding !== 'br') return response
  const { createBrotliDecompress, createGunzip } = process.getBuiltinModule('node:zlib')
  const decompress = encoding === 'gzip' ? createGunzip() : createBrotliDecompress()
  return process.getBuiltinModule('node:stream').pipeline(response, decompress, () => {})
}
