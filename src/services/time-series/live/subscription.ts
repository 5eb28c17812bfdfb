/** One who watches: what it may see, and what waits for it. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import { holds } from '../../../kernel/permissions.ts'
import { endpointResource } from '../../register/contract.ts'
import { readScopes } from '../read/visible-series.ts'
import { bytesOf, type LivePoint, textOf } from './live-point.ts'

/** Where events go: `kernel/http/event-stream.ts`, which a service does not know. */
export interface Outlet {
  say(event: string, data: string, id?: string): boolean
  onDrain(listener: () => void): void
  onClose(listener: () => void): void
  end(reason: string): void
}

export interface Watched {
  tenantId: string
  applicationName: string
  /** Undefined: all that the caller may read. */
  endpointIds: ReadonlySet<string> | undefined
  seriesNames: ReadonlySet<string> | undefined
}

export interface Subscription extends Watched {
  readonly waitingBytes: number
  /** Whether it asked for this endpoint and may read it. */
  sees(endpointId: string): boolean
  add(point: LivePoint): void
  /** Says so, with the first id; these come before all that has been added so far. From here on it flows. */
  begin(since: number, first: LivePoint[]): void
  /** Points may be missing from here on: to be read otherwise. */
  gap(reason: 'missed' | 'too_old' | 'too_many'): void
  /** Who it is now; what it may see is asked anew. */
  caller(caller: Caller): void
  end(reason: string): void
}

/** An event is sent at once, and what comes within this time is the next one. */
const togetherMs = 50
const eventBytes = 64 * 1024
/** For one who does not read, before it is ended. */
export const waitingBytesMax = 4 * 1024 * 1024
const rememberedMax = 10_000

export function createSubscription(
  ctx: Ctx,
  watched: Watched,
  outlet: Outlet,
  counted: (bytes: number) => void,
): Subscription {
  const { tenantId, applicationName, endpointIds, seriesNames } = watched
  let who = ctx.caller
  const seen = new Map<string, boolean>()
  let waiting: LivePoint[] = []
  let [bytes, held, isBehind, isOver] = [0, true, false, false]
  let timer: NodeJS.Timeout | undefined
  let saidAt = Number.NEGATIVE_INFINITY
  /** The greatest stamp that was told. */
  let told = 0

  function count(more: number) {
    bytes += more
    counted(more)
  }

  function flush() {
    timer = undefined
    if (held || isOver) return
    saidAt = monotonicMs()
    let from = 0
    while (from < waiting.length && !isBehind) {
      let [to, size] = [from, 0]
      while (to < waiting.length && size < eventBytes) size += bytesOf(waiting[to++]!)
      const some = waiting.slice(from, to)
      count(-size)
      from = to
      // Who was allowed to see it when it came may not be any more.
      const points = some.filter(({ endpointId }) => subscription.sees(endpointId))
      for (const { written } of points) told = Math.max(told, written)
      if (points.length > 0) isBehind = !outlet.say('points', textOf(points), String(told))
    }
    waiting = waiting.slice(from)
  }

  function schedule() {
    if (timer || held || isBehind || isOver || waiting.length === 0) return
    timer = setTimeout(flush, Math.max(0, saidAt + togetherMs - monotonicMs()))
  }

  const subscription: Subscription = {
    ...watched,
    get waitingBytes() {
      return bytes
    },
    sees(endpointId) {
      if (endpointIds && !endpointIds.has(endpointId)) return false
      let sees = seen.get(endpointId)
      if (sees === undefined) {
        const resource = endpointResource({ tenantId, applicationName, endpointId })
        sees = readScopes.every((scope) => holds(who, scope, resource))
        if (seen.size >= rememberedMax) seen.clear()
        seen.set(endpointId, sees)
      }
      return sees
    },
    add(point) {
      if (isOver || (seriesNames && !seriesNames.has(point.seriesName))) return
      waiting.push(point)
      count(bytesOf(point))
      if (bytes > waitingBytesMax) outlet.end('too_slow')
      else schedule()
    },
    begin(since, first) {
      told = since
      outlet.say('open', '{}', String(told))
      const own = seriesNames ? first.filter(({ seriesName }) => seriesNames.has(seriesName)) : first
      for (const point of own) count(bytesOf(point))
      waiting = [...own, ...waiting]
      held = false
      schedule()
    },
    gap(reason) {
      if (!isOver) outlet.say('gap', JSON.stringify({ reason }))
    },
    caller(caller) {
      who = caller
      seen.clear()
    },
    end: (reason) => outlet.end(reason),
  }

  outlet.onDrain(() => {
    isBehind = false
    schedule()
  })
  outlet.onClose(() => {
    isOver = true
    clearTimeout(timer)
    count(-bytes)
    waiting = []
  })
  return subscription
}
