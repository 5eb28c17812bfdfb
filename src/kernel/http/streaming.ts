/** Bodies of any size, read as fast as they are used; how long a sender may take for a body, and a reader for an answer. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { monotonicMs } from '../clock.ts'
import { BodyInterrupted, BodyStalled } from '../errors.ts'

/** A megabyte takes seconds even on a slow line. */
const smallBodyMs = 120_000
const silenceMs = 60_000
const lingerMs = 5_000

const awaitsContinue = new WeakSet<IncomingMessage>()

/** Node.js would say "100 Continue" to everybody: whoever is refused need not send a gigabyte first. */
export function deferContinue(server: Server) {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaitsContinue.add(request)
    server.emit('request', request, response)
  })
}

export function sayContinue(request: IncomingMessage, response: ServerResponse) {
  if (request.headers.expect !== undefined && awaitsContinue.delete(request)) response.writeContinue()
}

/**
 * Nobody holds a connection by sending a body byte by byte. Node.js has one time limit for all requests
 * (`server.requestTimeout`), which would also end a long upload.
 */
export function limitBodyTime(request: IncomingMessage) {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (request.complete || (encoding === undefined && (length === undefined || length === '0'))) return
  const timer = setTimeout(() => request.destroy(), smallBodyMs).unref()
  request.once('close', () => clearTimeout(timer))
}

/** The body in the pieces in which it arrives; the next is read when it is asked for. Can be read once. */
export async function* bodyOf(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  sayContinue(request, response)
  const wait = () => setTimeout(() => request.destroy(BodyStalled({ seconds: silenceMs / 1000 })), silenceMs).unref()
  let silence = wait()
  try {
    // Who stops reading still wants to answer: the connection stays.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      clearTimeout(silence)
      yield piece
      silence = wait()
    }
  } catch (error) {
    throw isInterruption(error) ? BodyInterrupted() : error
  } finally {
    clearTimeout(silence)
  }
}

const isInterruption = (error: unknown) =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes((error as { code?: string }).code ?? '')

/**
 * An answer before the end of the body: what still comes is thrown away for a moment, because a closed connection could take
 * the answer with it. True when the connection has to end with the answer.
 */
export function abandonBody(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return false
  // The sender waits for our word and gets another: what it sends next could be either.
  if (awaitsContinue.delete(request)) return true
  request.resume()
  const timer = setTimeout(() => request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
  return false
}

/** Nobody holds an answer, and what stands behind it, by not reading it. */
export function limitReadTime(response: ServerResponse, patienceMs = silenceMs) {
  let [sent, since] = [-1, monotonicMs()]
  const timer = setInterval(() => {
    const { bytesWritten = 0 } = response.socket ?? {}
    // Nothing waits for the reader: it waits for us.
    if (bytesWritten !== sent || response.writableLength === 0) {
      sent = bytesWritten
      since = monotonicMs()
    } else if (monotonicMs() - since >= patienceMs) response.destroy()
  }, patienceMs / 4).unref()
  response.once('close', () => clearInterval(timer))
}
