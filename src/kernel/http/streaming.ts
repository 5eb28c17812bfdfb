/** Handles bodies of any size with back-pressure. Limits how long a client may take to send a body or to read a response. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { monotonicMs } from '../clock.ts'
import { BodyInterrupted, BodyStalled, BodyTooLarge } from '../errors.ts'

/** Time limit for a body of up to a megabyte. Even on a slow connection, such a body takes only seconds. */
const smallBodyMs = 120_000
const stallMs = 60_000
const lingerMs = 5_000

const awaitsContinue = new WeakSet<IncomingMessage>()

/** Delays "100 Continue" until the body is read, so that a rejected sender does not send a gigabyte first. */
export function deferContinue(server: Server) {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaitsContinue.add(request)
    server.emit('request', request, response)
  })
}

export function sendContinue(request: IncomingMessage, response: ServerResponse) {
  if (request.headers.expect !== undefined && awaitsContinue.delete(request)) response.writeContinue()
}

/**
 * Limits the time for a body, so that a slow sender cannot hold a connection. Node's `server.requestTimeout` would also end long
 * uploads.
 */
export function limitBodyTime(request: IncomingMessage) {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (request.complete || (encoding === undefined && (length === undefined || length === '0'))) return
  const timer = setTimeout(() => request.destroy(), smallBodyMs).unref()
  request.once('close', () => clearTimeout(timer))
}

/** Yields the body in the pieces in which it arrives. The next piece is read on demand. The body can be read only once. */
export async function* bodyOf(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  sendContinue(request, response)
  const startStallTimer = () =>
    setTimeout(() => request.destroy(BodyStalled({ seconds: stallMs / 1000 })), stallMs).unref()
  let stallTimer = startStallTimer()
  try {
    // A handler that stops reading still sends a response, so the connection must stay open.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      clearTimeout(stallTimer)
      yield piece
      stallTimer = startStallTimer()
    }
  } catch (error) {
    throw isInterruption(error) ? BodyInterrupted() : error
  } finally {
    clearTimeout(stallTimer)
  }
}

/** Reads the whole body of a GET, which Fastify does not read. */
export async function readBodyOfGet(
  request: IncomingMessage,
  response: ServerResponse,
  limit: number,
): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of bodyOf(request, response)) {
    size += piece.length
    if (size > limit) throw BodyTooLarge({ limit })
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const isInterruption = (error: unknown) =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes((error as { code?: string }).code ?? '')

/**
 * Discards the rest of the body after an early response, because closing the connection immediately could lose the response. Returns
 * true if the connection has to be closed with the response.
 */
export function abandonBody(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return false
  // The sender waits for "100 Continue" and gets a response instead. Its next bytes could be the body or a new request, so the connection
  // cannot be used again.
  if (awaitsContinue.delete(request)) return true
  request.resume()
  const timer = setTimeout(() => request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
  return false
}

/** Ends a response that the client does not read, so that the response does not hold resources. */
export function limitReadTime(response: ServerResponse, timeoutMs = stallMs) {
  let [sent, since] = [-1, monotonicMs()]
  const timer = setInterval(() => {
    const { bytesWritten = 0 } = response.socket ?? {}
    // If no data waits to be written, the client has all data so far and is waiting for the platform.
    if (bytesWritten !== sent || response.writableLength === 0) {
      sent = bytesWritten
      since = monotonicMs()
    } else if (monotonicMs() - since >= timeoutMs) response.destroy()
  }, timeoutMs / 4).unref()
  response.once('close', () => clearInterval(timer))
}

const sliceBytes = 64 * 1024

/** Yields slices of bytes, so that a client that does not read them has only one slice in the buffer of its connection. */
export function* slicesOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes)
}
