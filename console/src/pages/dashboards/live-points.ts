/** Points that arrived live, kept by series for the widgets of a dashboard. The subscriptions of the dashboard deliver these points. */
import { createContext, useContext, useSyncExternalStore } from 'react'
import type { Point } from '../../parts/chart-series.ts'
import { grouped } from '../../parts/group.ts'

/** Maximum number of live points that are kept for a series. Older points are in the results of the queries of the widgets. */
const keptMax = 1_000
/** A chart is drawn at most once within this time, however many points arrive. */
const flushMs = 250

export const keyOfSeries = (endpointId: string, timeSeries: string) => `${endpointId} ${timeSeries}`

export interface LivePoints {
  add(items: readonly Record<string, unknown>[]): void
  /** Returns the points of a series, the oldest first. */
  pointsOf(key: string): readonly Point[]
  versionOf(key: string): number
  subscribe(listener: () => void): () => void
}

const isPoint = (item: Record<string, unknown>): item is Record<string, unknown> & Point =>
  typeof item.timestamp === 'string' && typeof item.values === 'object' && item.values !== null

export function createLivePoints(): LivePoints {
  const kept = new Map<string, { points: Point[]; version: number }>()
  const listeners = new Set<() => void>()
  let waiting: (Record<string, unknown> & Point)[] = []
  let isScheduled = false

  function flush() {
    isScheduled = false
    for (const [key, points] of grouped(waiting, (item) =>
      keyOfSeries(String(item.endpointId), String(item.seriesName)),
    )) {
      const before = kept.get(key) ?? { points: [], version: 0 }
      const fresh = points.map(({ timestamp, values }) => ({ timestamp, values }))
      kept.set(key, { points: [...before.points, ...fresh].slice(-keptMax), version: before.version + 1 })
    }
    waiting = []
    for (const listener of listeners) listener()
  }

  return {
    add(items) {
      waiting.push(...items.filter(isPoint))
      if (isScheduled) return
      isScheduled = true
      setTimeout(flush, flushMs)
    },
    pointsOf: (key) => kept.get(key)?.points ?? [],
    versionOf: (key) => kept.get(key)?.version ?? 0,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export const LivePointsContext = createContext<LivePoints>(createLivePoints())

/** Returns the points of each series that arrived since the page was opened. */
export function useLivePoints(keys: readonly string[]): readonly (readonly Point[])[] {
  const live = useContext(LivePointsContext)
  useSyncExternalStore(live.subscribe, () => keys.map((key) => live.versionOf(key)).join(' '))
  return keys.map((key) => live.pointsOf(key))
}
