/**
 * Server-sent events (HTML standard, 9.2): a response that continues until the client or the server ends it. The amount of unsent data is
 * limited.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { monotonicMs } from '../clock.ts'

export interface StreamMessage {
  event: string
  /** Content of the event: a text without line breaks. */
  data: string
  id?: string | undefined
}

export interface EventStream {
  /** Sends an event. `data` has no line breaks. Returns false if the client reads too slowly; then send no more events before `onDrain`. */
  send(event: string, data: string, id?: string): boolean
  /** Sends several events with one write. */
  sendAll(messages: StreamMessage[]): boolean
  onDrain(listener: () => void): void
  /** Registers a listener for the end of the stream. If the stream has already ended, calls the listener immediately. */
  onClose(listener: () => void): void
  /** Sends an event `end` with the reason, then ends the stream. */
  end(reason: string): void
}

const heartbeatMs = 15_000
/** A client that has read nothing for this long is disconnected. */
const stalledMs = 60_000
/** The time to deliver the last event before the connection is closed. */
const lingerMs = 5_000
const unsentMax = 64 * 1024
/** The time after which a browser reconnects. */
const retryMs = 2_000

export const eventStreamType = 'text/event-stream; charset=utf-8'

const headers = {
  'content-type': eventStreamType,
  'cache-control': 'no-store',
  // Without this header, proxies would buffer events.
  'x-accel-buffering': 'no',
}

/** Opens a stream. It is added to `openStreams`, so that the server can end it when it stops. */
export function openEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  openStreams: Set<EventStream>,
): EventStream {
  let [ended, behindSince]: [boolean, number | undefined] = [false, undefined]
  const drainListeners: (() => void)[] = []
  const closeListeners: (() => void)[] = []
  const body = new Readable({
    highWaterMark: unsentMax,
    read() {
      behindSince = undefined
      for (const listener of drainListeners) listener()
    },
  })

  const write = (text: string) => {
    const ready = body.push(text)
    if (!ready) behindSince ??= monotonicMs()
    return ready
  }

  const heartbeat = setInterval(() => {
    if (behindSince === undefined) write(':\n\n')
    else if (monotonicMs() - behindSince > stalledMs) stream.end('too_slow')
  }, heartbeatMs).unref()

  const stream: EventStream = {
    send: (event, data, id) => stream.sendAll([{ event, data, id }]),
    sendAll(messages) {
      if (ended) return false
      let text = ''
      for (const { event, data, id } of messages)
        text += `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
      return write(text)
    },
    onDrain: (listener) => void drainListeners.push(listener),
    onClose(listener) {
      if (ended) listener()
      else closeListeners.push(listener)
    },
    end(reason) {
      if (ended) return
      stream.send('end', JSON.stringify({ reason }))
      finish()
      body.push(null)
      setTimeout(() => reply.raw.destroy(), lingerMs).unref()
    },
  }

  function finish() {
    if (ended) return
    ended = true
    clearInterval(heartbeat)
    openStreams.delete(stream)
    for (const listener of closeListeners) listener()
  }

  openStreams.add(stream)
  body.on('close', finish)
  reply.headers(headers)
  reply.send(body)
  // The headers are sent with the first data.
  write(`retry: ${retryMs}\n\n`)
  if (request.method === 'HEAD') stream.end('head')
  return stream
}
