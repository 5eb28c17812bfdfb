/** Server-sent events (HTML standard, 9.2): an answer that goes on until somebody ends it. What is unsent is bounded. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { monotonicMs } from '../clock.ts'

export interface EventStream {
  /** `data` without line breaks, such as JSON. False: the reader is behind, and nothing more should be said before `onDrain`. */
  say(event: string, data: string, id?: string): boolean
  onDrain(listener: () => void): void
  /** The reader has gone, or the stream was ended; at once where that has happened already. */
  onClose(listener: () => void): void
  /** The last event, `end`, says why. */
  end(reason: string): void
}

const heartbeatMs = 15_000
/** Who has not read anything for so long is not there any more. */
const stalledMs = 60_000
/** So long the last words may take. */
const lingerMs = 5_000
const unsentMax = 64 * 1024
/** How soon a browser comes again after the end. */
const retryMs = 2_000

export const eventStreamType = 'text/event-stream; charset=utf-8'

const headers = {
  'content-type': eventStreamType,
  'cache-control': 'no-store',
  // Proxies would keep events until they have a page full of them.
  'x-accel-buffering': 'no',
}

/** `all`: those that are open, so that a server that closes can end them. */
export function openEventStream(request: FastifyRequest, reply: FastifyReply, all: Set<EventStream>): EventStream {
  let [over, behindSince]: [boolean, number | undefined] = [false, undefined]
  const drained: (() => void)[] = []
  const closed: (() => void)[] = []
  const body = new Readable({
    highWaterMark: unsentMax,
    read() {
      behindSince = undefined
      for (const listener of drained) listener()
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
    say(event, data, id) {
      if (over) return false
      return write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
    },
    onDrain: (listener) => void drained.push(listener),
    onClose(listener) {
      if (over) listener()
      else closed.push(listener)
    },
    end(reason) {
      if (over) return
      stream.say('end', JSON.stringify({ reason }))
      finish()
      body.push(null)
      setTimeout(() => reply.raw.destroy(), lingerMs).unref()
    },
  }

  function finish() {
    if (over) return
    over = true
    clearInterval(heartbeat)
    all.delete(stream)
    for (const listener of closed) listener()
  }

  all.add(stream)
  body.on('close', finish)
  reply.headers(headers)
  reply.send(body)
  // The headers leave with the first words.
  write(`retry: ${retryMs}\n\n`)
  if (request.method === 'HEAD') stream.end('head')
  return stream
}
