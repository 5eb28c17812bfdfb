/**
 * Finds connections whose request body arrives too slowly, so that slow senders cannot keep all connections busy. Slow connections are
 * closed only when a limit of connections is reached.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { monotonicMs } from '../clock.ts'

export interface SlowBodyLimit {
  /** Time over which the rate of a body is measured. */
  windowMs: number
  /** A body that arrives below this rate counts as slow. */
  bytesPerSecond: number
}

/** Even a phone with a bad connection sends faster than this rate. To hold 5,000 connections at this rate, an attacker needs 160 Mbit/s. */
export const defaultSlowBodyLimit: SlowBodyLimit = { windowMs: 5000, bytesPerSecond: 4096 }

interface Sample {
  request: IncomingMessage
  bytes: number
  at: number
}

export interface SlowBodies<C> {
  /** Measures periodically until `isNeeded` returns false. */
  watch(): void
  /**
   * Returns the connection with the slowest body among these, and returns it again only if a later measurement finds it slow. Returns
   * undefined if none of these is slow.
   */
  takeSlowest(among: Set<C>): C | undefined
}

export function createSlowBodies<C extends { socket: Socket }>(
  connections: Set<C>,
  isNeeded: () => boolean,
  { windowMs, bytesPerSecond }: SlowBodyLimit,
): SlowBodies<C> {
  let samples = new Map<C, Sample>()
  /** Slow connections; the slowest is last. */
  let slow: C[] = []
  let timer: NodeJS.Timeout | undefined

  function measure() {
    const at = monotonicMs()
    const rates = new Map<C, number>()
    const next = new Map<C, Sample>()
    for (const connection of connections) {
      const request = unfinishedBody(connection.socket)
      if (!request) continue
      const { bytesRead: bytes } = connection.socket
      const before = samples.get(connection)
      next.set(connection, { request, bytes, at })
      if (before?.request !== request) continue
      const rate = (bytes - before.bytes) / ((at - before.at) / 1000)
      if (rate < bytesPerSecond) rates.set(connection, rate)
    }
    samples = next
    slow = [...rates.keys()].sort((a, b) => rates.get(b)! - rates.get(a)!)
    if (isNeeded()) return
    clearInterval(timer)
    timer = undefined
    samples = new Map()
    slow = []
  }

  /** Returns whether the connection still waits for the body that was measured. */
  const stillWaits = (connection: C) => {
    const request = unfinishedBody(connection.socket)
    return request !== undefined && request === samples.get(connection)?.request
  }

  return {
    watch() {
      timer ??= setInterval(measure, windowMs).unref()
    },
    takeSlowest(among) {
      for (let index = slow.length - 1; index >= 0; index--) {
        const one = slow[index]!
        if (!among.has(one)) continue
        slow.splice(index, 1)
        if (stillWaits(one)) return one
      }
      return undefined
    },
  }
}

/** Returns the request of the connection if it waits for more of its body. Returns undefined if it is the platform that is slow to read. */
export function unfinishedBody(socket: Socket): IncomingMessage | undefined {
  const request = responseOf(socket)?.req
  return request && !request.complete && request.readableLength === 0 ? request : undefined
}

/** Returns the response that Node.js has assigned to the connection. There is one while a request is processed or its body is read. */
export const responseOf = (socket: Socket) =>
  (socket as { _httpMessage?: ServerResponse<IncomingMessage> | null })._httpMessage ?? undefined
