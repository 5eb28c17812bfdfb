/** Sends the request of an operation, with credentials, time limits and retries. Returns the response as a value, or throws an error. */
import { downloadOf } from './download.ts'
import { WaypostError } from './errors.ts'
import { readEvents } from './events.ts'
import { errorOf, excerptOf, failureOf } from './failures.ts'
import { invalidArgument, pathOf } from './operation.ts'
import { delayMsOf, isRepeatable, isTemporary, nothingWasSent } from './retry.ts'
import { createLimit, endLimit, isCanceled, type Limit, type Running, type Transport, waitMsOf } from './running.ts'
import type { Answer, Arguments, Operation, Options, Upload } from './types.ts'

const defaultTimeoutMs = 60_000
const defaultAttempts = 10

/**
 * Calls an operation, and repeats its request until a response is final or no attempt or time is left. A call uses few functions and
 * objects, to be almost as fast as a bare `fetch` (bench `sdk`).
 */
export async function send(
  transport: Transport,
  operation: Operation,
  args: Arguments,
  callOptions: Options | undefined,
): Promise<Answer> {
  const options = callOptions === undefined ? transport.defaults : { ...transport.defaults, ...callOptions }
  const isUpload = operation.bodyType === 'application/octet-stream'
  // The duration of an upload depends on its size, so only the caller can set a limit.
  const timeoutMs = options.timeoutMs ?? (isUpload ? Number.POSITIVE_INFINITY : waitMsOf(args) + defaultTimeoutMs)
  const canResend = !isUpload || !isUsedUpByOneAttempt(args.body)
  const running: Running = {
    transport,
    operation,
    args,
    options,
    address: transport.url + pathOf(operation, args),
    canResend,
    repeatable: canResend && isRepeatable(operation, options),
    attempts: 0,
    deadline: performance.now() + timeoutMs,
  }
  const attemptsMax = options.attempts ?? defaultAttempts
  let renewed = false
  while (true) {
    running.attempts++
    const headers = operation.open ? noHeaders : transport.credentials.headers(options)
    const credentials = headers instanceof Promise ? await headers : headers
    const outcome = await sendOnce(running, credentials)
    if (!('error' in outcome)) return outcome
    const { error, again } = outcome
    if (error.status === 401 && !operation.open && !renewed && canResend) {
      renewed = true
      if (await transport.credentials.renew(credentials, options)) continue
    }
    const delayMs = delayMsOf(running.attempts, error.retryAfterSeconds, Math.random)
    if (!again || running.attempts >= attemptsMax || performance.now() + delayMs >= running.deadline) throw error
    transport.onRetry?.(error, delayMs)
    await pause(delayMs, options.signal, running)
  }
}

const noHeaders: Record<string, string> = {}

const isUsedUpByOneAttempt = (body: unknown) =>
  typeof body === 'object' &&
  body !== null &&
  !(body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body))

/** An attempt that failed, and whether the request is sent again. */
interface Failure {
  error: WaypostError
  again: boolean
}

async function sendOnce(running: Running, credentials: Record<string, string>): Promise<Answer | Failure> {
  const { operation, options, repeatable, canResend } = running
  const limit = createLimit(running)
  const { signal } = limit.controller
  let request: RequestInit
  try {
    const made = requestOf(running, credentials, signal)
    request = made instanceof Promise ? await made : made
  } catch (cause) {
    endLimit(limit)
    return { error: unsendable(running, cause), again: false }
  }
  let response: Response
  try {
    response = await running.transport.fetch(running.address, request)
  } catch (cause) {
    endLimit(limit)
    const error = failureOf(running, signal, cause, 'unreachable')
    return { error, again: error.code !== 'aborted' && (repeatable || (canResend && nothingWasSent(cause))) }
  }
  try {
    const { status } = response
    if (response.ok || isExpected(running, status)) {
      if (operation.answer !== 'json' || status === 204 || status >= 300 || options.accept !== undefined)
        return answerOf(running, response, await bodyOf(running, response, limit))
      const text = await response.text()
      endLimit(limit)
      return answerOf(running, response, text === '' ? undefined : decodedOf(running, response, text))
    }
    const error = await errorOf(running, response)
    endLimit(limit)
    return { error, again: canResend && isTemporary(status, repeatable) }
  } catch (cause) {
    endLimit(limit)
    if (cause instanceof WaypostError) return { error: cause, again: false }
    return { error: failureOf(running, signal, cause, 'interrupted'), again: repeatable && !isCanceled(limit) }
  }
}

/**
 * Returns whether the caller gets a response without success as a value, not as an error: 304 or 412 after a condition, or a redirect of an
 * OpenID Connect operation.
 */
function isExpected({ operation, options: { ifMatch, ifNoneMatch } }: Running, status: number): boolean {
  if (status === 304 && ifNoneMatch !== undefined) return true
  if (status === 412 && (ifMatch ?? ifNoneMatch) !== undefined) return true
  return status >= 300 && status < 400 && operation.name.startsWith('openid.')
}

/** Returns the request for `fetch`; a promise of it only for uploads, because each further promise would measurably slow down requests. */
function requestOf(
  { operation, args, options }: Running,
  credentials: Record<string, string>,
  signal: AbortSignal,
): RequestInit | Promise<RequestInit> {
  const headers: Record<string, string> = { ...credentials }
  headers.accept = acceptOf[operation.answer]
  if (options.accept !== undefined) headers.accept = headerOf(operation, 'accept', options.accept)
  if (options.ifMatch !== undefined) headers['if-match'] = headerOf(operation, 'ifMatch', options.ifMatch)
  if (options.ifNoneMatch !== undefined)
    headers['if-none-match'] = headerOf(operation, 'ifNoneMatch', options.ifNoneMatch)
  if (options.correlationId !== undefined)
    headers['x-correlation-id'] = headerOf(operation, 'correlationId', options.correlationId)
  for (const name of operation.headers)
    if (args[name] !== undefined) headers[name] = headerOf(operation, name, String(args[name]))
  // Redirects are not followed, because that could send the credentials or the body to another host.
  const request: RequestInit = { headers, signal, redirect: 'manual', credentials: 'omit' }
  if (operation.method !== 'GET') request.method = operation.method
  if (args.body === undefined) return request
  headers['content-type'] = operation.bodyType
  if (operation.bodyType === 'application/octet-stream') return withUpload(request, args.body as Upload)
  if (operation.bodyType === 'application/x-www-form-urlencoded')
    request.body = new URLSearchParams(args.body as Record<string, string>).toString()
  else request.body = JSON.stringify(args.body)
  return request
}

/** Returns the value if it is valid in a header. `fetch` would reject any other value with an error that looks like a lost connection. */
function headerOf(operation: Operation, field: string, value: string): string {
  if (/^[\t\x20-\x7e\xa0-\xff]*$/.test(value)) return value
  throw invalidArgument(operation, field, 'contains characters that no header can have')
}

/** Returns the error of a request that the arguments of the caller make impossible, such as a body that JSON cannot represent. */
function unsendable({ operation, options, attempts }: Running, cause: unknown): WaypostError {
  if (cause instanceof WaypostError) return cause
  const details = { operation: operation.name, attempts, cause }
  if (options.signal?.aborted)
    return new WaypostError(`${operation.name} was canceled`, { ...details, code: 'aborted' })
  const reason = excerptOf(cause instanceof Error ? cause.message : String(cause))
  const text = `${operation.name}: the body cannot be sent: ${reason}`
  return new WaypostError(text, { ...details, code: 'invalid_argument', field: 'body' })
}

const acceptOf = { json: 'application/json', bytes: '*/*', events: 'text/event-stream' }

async function withUpload(request: RequestInit, upload: Upload): Promise<RequestInit & { duplex?: 'half' }> {
  const body = await uploadOf(upload)
  return { ...request, body, ...(body instanceof ReadableStream && { duplex: 'half' }) }
}

async function uploadOf(upload: Upload): Promise<NonNullable<RequestInit['body']>> {
  const body = typeof upload === 'function' ? await upload() : upload
  if (typeof body === 'object' && Symbol.asyncIterator in body && !(body instanceof ReadableStream))
    return streamOf(body as AsyncIterable<Uint8Array<ArrayBuffer>>)
  return body as NonNullable<RequestInit['body']>
}

function streamOf(chunks: AsyncIterable<Uint8Array<ArrayBuffer>>) {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await iterator.return?.()),
  })
}

/** Returns the response with its body. */
function answerOf({ attempts }: Running, { status, headers }: Response, body: unknown): Answer {
  return {
    status,
    body,
    etag: headers.get('etag') ?? undefined,
    location: headers.get('location') ?? undefined,
    correlationId: headers.get('x-correlation-id') ?? undefined,
    headers,
    attempts,
  }
}

/** Returns the body of a response that is not a JSON document. A stream of bytes or events is read later. */
async function bodyOf(running: Running, response: Response, limit: Limit): Promise<unknown> {
  const isEvents = running.operation.answer === 'events'
  if (isEvents && !typeOf(response).includes('event-stream')) {
    await response.body?.cancel()
    throw unreadable(running, response, `no stream of events: ${notThePlatform}`)
  }
  if (response.status === 204 || response.status >= 300) {
    await response.body?.cancel()
    endLimit(limit)
    return undefined
  }
  return isEvents ? readEvents(response, limit) : downloadOf(running, response, limit, send)
}

const typeOf = (response: Response) => response.headers.get('content-type') ?? ''

function decodedOf(running: Running, response: Response, text: string): unknown {
  const type = typeOf(response)
  if (type.includes('json')) return parse(running, response, text)
  if (type.includes('html')) throw unreadable(running, response, `a web page: ${notThePlatform}`)
  return text
}

const notThePlatform = 'is this the address of the platform?'

function parse(running: Running, response: Response, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw unreadable(running, response, `not JSON: ${excerptOf(text)}`, cause)
  }
}

function unreadable({ operation, attempts }: Running, response: Response, problem: string, cause?: unknown) {
  return new WaypostError(`The answer to ${operation.name} is ${problem}`, {
    code: 'unreadable',
    status: response.status,
    operation: operation.name,
    correlationId: response.headers.get('x-correlation-id') ?? undefined,
    attempts,
    cause,
  })
}

async function pause(ms: number, signal: AbortSignal | undefined, running: Running) {
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
  if (signal?.aborted) throw failureOf(running, signal, signal.reason, 'interrupted')
}
