/**
 * Limits the memory of responses that clients read slowly or not at all: of responses that are sent as one text, and of lists that are
 * streamed. A streamed list keeps in memory the part that its client has not read, so it is counted while its client reads nothing.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { monotonicMs } from '../clock.ts'
import type { Log } from '../log.ts'
import { createLogLimit } from '../log-limit.ts'
import { unreadResponsesEnded } from './log-messages.ts'
import { slicesOf } from './streaming.ts'

export interface UnreadLimit {
  /** Maximum number of bytes of all responses together. Above it, the connections of the slowest readers are closed. */
  bytesMax: number
  /** Time after which a connection is closed if its client reads nothing. */
  stallMs: number
}

export const defaultUnreadLimit: UnreadLimit = { bytesMax: 128 * 1024 * 1024, stallMs: 60_000 }

/** Smaller responses fit into the buffers of the operating system, and are counted only if they wait behind another response. */
const countedMin = 16 * 1024
/** Responses from this size are sent in slices, because the number of sent slices shows how much the client has read. */
const slicedMin = 64 * 1024
const checkMs = 1000
/**
 * A streamed list counts as this many bytes while its client reads nothing: an estimate for one part of the list, which has up to 100 rows.
 */
const listBytes = 2 * 1024 * 1024
/** A streamed list is counted once its client has read nothing for this time. */
const listStallMs = 2000
/**
 * Above `bytesMax`, readers are disconnected until the rest has this part of `bytesMax`, so that not every new response causes a
 * disconnect.
 */
const keptPart = 0.9

/** A response that is not sent completely. */
interface Unread {
  response: ServerResponse
  socket: Socket
  /** Number of counted bytes. For a streamed list it is 0 while its client reads. */
  bytes: number
  isList: boolean
  /** The bytes that the connection has sent, and the last check at which they had increased. */
  sent: number
  progressAt: number
}

export interface UnreadResponses {
  /** Counts a response until it is sent or its connection is closed. */
  count(reply: FastifyReply, payload: unknown): void
  /** Number of bytes of all counted responses. */
  readonly bytes: number
}

export function createUnreadResponses(
  log: Log,
  { bytesMax, stallMs }: UnreadLimit = defaultUnreadLimit,
): UnreadResponses {
  const all = new Set<Unread>()
  const bySocket = new WeakMap<Socket, Set<Unread>>()
  const limitLog = createLogLimit()
  let total = 0
  let timer: NodeJS.Timeout | undefined

  function remove(unread: Unread) {
    if (!all.delete(unread)) return
    bySocket.get(unread.socket)?.delete(unread)
    total -= unread.bytes
    if (all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /**
   * Returns the counted responses of a connection. They are removed when the connection ends, because Node.js does not close responses that
   * wait behind another response.
   */
  function ofSocket(socket: Socket): Set<Unread> {
    const known = bySocket.get(socket)
    if (known) return known
    const unread = new Set<Unread>()
    bySocket.set(socket, unread)
    socket.once('close', () => unread.forEach(remove))
    return unread
  }

  function disconnect(socket: Socket) {
    socket.destroy()
    bySocket.get(socket)?.forEach(remove)
  }

  function checkProgress() {
    const at = monotonicMs()
    for (const unread of all) {
      const sent = sentBytes(unread.socket)
      // If all bytes are sent, the client waits for the platform.
      const isWaiting = unread.isList && unread.response.writableLength === 0
      if (sent !== unread.sent || isWaiting) Object.assign(unread, { sent, progressAt: at })
      else if (at - unread.progressAt >= stallMs) disconnect(unread.socket)
      if (unread.isList && all.has(unread)) countList(unread, at)
    }
    if (total > bytesMax) disconnectSlowest()
  }

  function countList(unread: Unread, at: number) {
    const bytes = at - unread.progressAt >= Math.min(listStallMs, stallMs) ? listBytes : 0
    total += bytes - unread.bytes
    unread.bytes = bytes
  }

  /** Disconnects the clients that have read nothing for the longest time. A client that reads makes progress between two checks. */
  function disconnectSlowest() {
    const before = all.size
    for (const { socket } of [...all].filter(({ bytes }) => bytes > 0).sort((a, b) => a.progressAt - b.progressAt)) {
      if (total <= bytesMax * keptPart) break
      disconnect(socket)
    }
    limitLog(() => unreadResponsesEnded(log, { responses: before - all.size, bytesMax }))
  }

  return {
    count(reply, payload) {
      const { raw: response } = reply
      const isList = payload instanceof Readable && jsonType.test(String(reply.getHeader('content-type')))
      if (!(isList || isText(payload)) || reply.request.internalCaller) return
      if (isText(payload) && payload.length < countedMin && !isQueued(response)) return
      const { socket } = response.req
      const bytes = isText(payload) ? payload.length : 0
      const unread = { response, socket, bytes, isList, sent: sentBytes(socket), progressAt: monotonicMs() }
      all.add(unread)
      ofSocket(socket).add(unread)
      total += unread.bytes
      response.once('close', () => remove(unread))
      timer ??= setInterval(checkProgress, Math.min(checkMs, stallMs / 4)).unref()
      if (total > bytesMax) disconnectSlowest()
    },
    get bytes() {
      return total
    },
  }
}

const jsonType = /^application\/json\b/
const isText = (payload: unknown): payload is string | Buffer => typeof payload === 'string' || Buffer.isBuffer(payload)

/** Returns whether the response waits for an earlier response on the same connection. */
const isQueued = (response: ServerResponse) => response.socket === null

/** Returns how many bytes the operating system has accepted. `bytesWritten` also counts bytes that still wait in the process. */
const sentBytes = (socket: Socket) => socket.bytesWritten - socket.writableLength

/** Hook for `onSend` of routes, after compression. Sends a large text in slices. */
export function sendInSlices(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: Error | null, payload?: unknown) => void,
) {
  if (!isText(payload) || payload.length < slicedMin || request.method === 'HEAD' || request.internalCaller)
    return done(null, payload)
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  reply.header('content-length', bytes.length)
  done(null, Readable.from(slicesOf(bytes), { objectMode: false }))
}
