/** Sends the request of an operation, with credentials, time limits and retries. Returns the response as a value, or throws an error. */
import { downloadOf } from './download.ts'
import { WaypostError } from './errors.ts'
import { readEvents } from './events.ts'
import { errorOf, excerptOf, failureOf } from './failures.ts'
import { pathOf } from './operation.ts'
import { delayMsOf, isRepeatable, isTemporary, nothingWasSent } from './retry.ts'
import { createLimit, type Limit, type Running, type Transport, waitMsOf } from './running.ts'
import type { Answer, Arguments, Operation, Options, Upload } from './types.ts'

const defaultTimeoutMs = 60_000
const defaultAttempts = 10

/** Calls an operation. */
export async function send(
  transport: Transport,
  operation: Operation,
  args: Arguments,
  callOptions: Options,
): Promise<Answer> {
  const options = { ...transport.defaults, ...callOptions }
  const isUpload = operation.bodyType === 'application/octet-stream'
  // The duration of an upload depends on its size, so only the caller can set a limit.
  const timeoutMs = options.timeoutMs ?? (isUpload ? Number.POSITIVE_INFINITY : waitMsOf(args) + defaultTimeoutMs)
  const running: Running = {
    transport,
    operation,
    args,
    options,
    address: transport.url + pathOf(operation, args),
    repeatable: isRepeatable(operation, options) && !isUsedUpByOneAttempt(args.body, isUpload),
    attempts: 0,
    deadline: Date.now() + timeoutMs,
  }
  return attempt(running)
}

const isUsedUpByOneAttempt = (body: unknown, isUpload: boolean) =>
  isUpload &&
  typeof body === 'object' &&
  body !== null &&
  !(body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body))

/** Sends the request again until a response is final. */
async function attempt(running: Running): Promise<Answer> {
  const { transport, operation, options } = running
  const { attempts: attemptsMax = defaultAttempts } = options
  let renewed = false
  while (true) {
    running.attempts++
    const headers = operation.open ? {} : transport.credentials.headers(options)
    const credentials = headers instanceof Promise ? await headers : headers
    const outcome = await sendOnce(running, credentials)
    if ('answer' in outcome) return outcome.answer
    const { error, again } = outcome
    if (error.status === 401 && !operation.open && !renewed && outcome.canResend) {
      renewed = true
      if (await transport.credentials.renew(credentials, options)) continue
    }
    const delayMs = delayMsOf(running.attempts, error.retryAfterSeconds, Math.random)
    if (!again || running.attempts >= attemptsMax || Date.now() + delayMs >= running.deadline) throw error
    await pause(delayMs, options.signal, running)
  }
}

type Outcome = { answer: Answer } | { error: WaypostError; again: boolean; canResend: boolean }

async function sendOnce(running: Running, credentials: Record<string, string>): Promise<Outcome> {
  const { operation, options, repeatable } = running
  const limit = createLimit(running)
  const canResend = !isUsedUpByOneAttempt(running.args.body, operation.bodyType === 'application/octet-stream')
  let response: Response
  try {
    const request = requestOf(running, credentials, limit.signal)
    response = await running.transport.fetch(running.address, request instanceof Promise ? await request : request)
  } catch (cause) {
    limit.end()
    const error = failureOf(running, limit, cause, 'unreachable')
    const mayRetry = error.code !== 'aborted' && (repeatable || (canResend && nothingWasSent(cause)))
    return { error, again: mayRetry, canResend }
  }
  try {
    const { status } = response
    if (status === 304 && options.ifNoneMatch !== undefined) return { answer: await answerOf(running, response, limit) }
    if (status === 412 && (options.ifMatch ?? options.ifNoneMatch) !== undefined)
      return { answer: await answerOf(running, response, limit) }
    if (response.ok || (status >= 300 && status < 400 && operation.name.startsWith('openid.')))
      return { answer: await answerOf(running, response, limit) }
    const error = await errorOf(running, response)
    limit.end()
    return { error, again: canResend && isTemporary(status, repeatable), canResend }
  } catch (cause) {
    limit.end()
    if (cause instanceof WaypostError) return { error: cause, again: false, canResend }
    return { error: failureOf(running, limit, cause, 'interrupted'), again: repeatable && !limit.aborted(), canResend }
  }
}

/** Returns a promise only for uploads. Further promises and options would take a measurable part of the time of a request. */
function requestOf(
  { operation, args, options }: Running,
  credentials: Record<string, string>,
  signal: AbortSignal,
): RequestInit | Promise<RequestInit> {
  const headers: Record<string, string> = { ...credentials }
  headers.accept = options.accept ?? acceptOf[operation.answer]
  if (options.ifMatch !== undefined) headers['if-match'] = options.ifMatch
  if (options.ifNoneMatch !== undefined) headers['if-none-match'] = options.ifNoneMatch
  if (options.correlationId !== undefined) headers['x-correlation-id'] = options.correlationId
  for (const name of operation.headers) if (args[name] !== undefined) headers[name] = String(args[name])
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

/**
 * Returns the response with its body. A stream of bytes or events is read later. Reading a header takes time, so headers are read only when
 * they are used.
 */
async function answerOf(running: Running, response: Response, limit: Limit): Promise<Answer> {
  const { status, headers } = response
  const body = await bodyOf(running, response, limit)
  return {
    status,
    body,
    get etag() {
      return headers.get('etag') ?? undefined
    },
    get location() {
      return headers.get('location') ?? undefined
    },
    get correlationId() {
      return headers.get('x-correlation-id') ?? undefined
    },
    headers,
    attempts: running.attempts,
  }
}

async function bodyOf(running: Running, response: Response, limit: Limit): Promise<unknown> {
  const { operation, options } = running
  const type = response.headers.get('content-type') ?? ''
  if (operation.answer === 'events' && !type.includes('event-stream')) {
    await response.body?.cancel()
    throw unreadable(running, response, `no stream of events: ${notThePlatform}`)
  }
  if (response.status === 204 || response.status >= 300) {
    await response.body?.cancel()
    limit.end()
    return undefined
  }
  if (operation.answer === 'events') return readEvents(response, limit)
  if (operation.answer === 'bytes' || options.accept !== undefined) return downloadOf(running, response, limit, send)
  const text = await response.text()
  limit.end()
  if (text === '') return undefined
  if (type.includes('html')) throw unreadable(running, response, `a web page: ${notThePlatform}`)
  return type.includes('json') ? parse(running, response, text) : text
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
  if (signal?.aborted) throw failureOf(running, { signal }, signal.reason, 'interrupted')
}
