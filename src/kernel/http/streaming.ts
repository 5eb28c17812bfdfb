/** Bodies of any size with back-pressure, and time limits for senders of bodies and readers of responses. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { monotonicMs } from '../clock.ts'
import { BodyInterrupted, BodyStalled } from '../errors.ts'

/** Time limit for a body of up to a megabyte, which takes seconds even on a slow connection. */
const smallBodyMs = 120_000
const stallMs = 60_000
const lingerMs = 5_000

const awaitsContinue = new WeakSet<IncomingMessage>()

/** Delays "100 Continue" until the body is to be read, so that a rejected sender need not send a gigabyte first. */
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

/** Yields the body in the pieces in which it arrives; reads the next piece on demand. Can be read once. */
export async function* bodyOf(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  sendContinue(request, response)
  const startStallTimer = () =>
    setTimeout(() => request.destroy(BodyStalled({ seconds: stallMs / 1000 })), stallMs).unref()
  let stallTimer = startStallTimer()
  try {
    // A handler that stops reading still sends a response, so the connection stays open.
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

const isInterruption = (error: unknown) =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes((error as { code?: string }).code ?? '')

/**
 * Discards the rest of the body after an early response, because closing the connection at once could lose the response. Returns
 * true if the connection has to be closed with the response.
 */
export function abandonBody(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return false
  // The sender waits for "100 Continue" and gets a response instead: its next bytes could be the body or a new request.
  if (awaitsContinue.delete(request)) return true
  request.resume()
  const timer = setTimeout(() => request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
  return false
}

/** Ends a response that its reader does not read, so that it cannot hold resources. */
export function limitReadTime(response: ServerResponse, timeoutMs = stallMs) {
  let [sent, since] = [-1, monotonicMs()]
  const timer = setInterval(() => {
    const { bytesWritten = 0 } = response.socket ?? {}
    // All data is sent: the reader waits for us.
    if (bytesWritten !== sent || response.writableLength === 0) {
      sent = bytesWritten
      since = monotonicMs()
    } else if (monotonicMs() - since >= timeoutMs) response.destroy()
  }, timeoutMs / 4).unref()
  response.once('close', () => clearInterval(timer))
}
