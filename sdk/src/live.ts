/**
 * Watches topics over the streams of the platform: an async iterator that reconnects, resumes, and leaves out items that it has already
 * delivered.
 */
import { createMemory, isFinal, pointKeyOf, reasonOf, sleep } from './following.ts'
import { readOperation } from './operation.ts'
import { delayMsOf } from './retry.ts'
import { createStream, type LiveStream, type LiveSubscription } from './stream.ts'
import type { Answer, Arguments, Operation, Options, ServerEvent } from './types.ts'

/** Selects the points of an application that the caller wants to watch. */
export interface Topic {
  applicationName: string
  /** Only these endpoints. Default: all endpoints that the caller may read. */
  endpointId?: string | readonly string[] | undefined
  /** Only these series. Default: all. */
  timeSeriesName?: string | readonly string[] | undefined
  /** Begin with the newest point of each series. */
  initial?: boolean | undefined
}

/** Points by endpoint and series. */
export type LivePoints = Record<string, Record<string, { timestamp: string; values: Record<string, unknown> }[]>>

export type LiveEvent =
  /** The stream is connected. */
  | { type: 'open'; topic: Topic; resumed: boolean }
  | { type: 'points'; topic: Topic; points: LivePoints }
  /** Points may be missing: read them with `timeSeries.data.get`. */
  | { type: 'gap'; topic: Topic; reason: string }
  /** The connection broke; the stream reconnects. */
  | { type: 'interrupted'; topic: Topic; reason: string }

export interface Live {
  /** Watches points of time series. */
  (topics: Topic | readonly Topic[], options?: { signal?: AbortSignal }): AsyncIterable<LiveEvent>
  /** Watches many topics over one connection: messages, refusals, connections, points, alerts, jobs. */
  stream(subscriptions: readonly LiveSubscription[], options?: { signal?: AbortSignal }): LiveStream
}

type Call = (operation: Operation, args: Arguments, options: Options) => Promise<Answer>

const watch = readOperation(
  'timeSeries',
  'live.watch GET /epts/api/v1/applications/{applicationName}/time-series/live ae hlast-event-id',
)

/** Maximum number of events that wait for a slow reader. When it is reached, the streams are not read until the reader has caught up. */
const waitingMax = 100

export function createLive(call: Call): Live {
  const live = (topics: Topic | readonly Topic[], { signal }: { signal?: AbortSignal } = {}) => ({
    [Symbol.asyncIterator]: () => merge([topics].flat(), call, signal),
  })
  return Object.assign(live, {
    stream: (subscriptions: readonly LiveSubscription[], options?: { signal?: AbortSignal }) =>
      createStream(call, subscriptions, options),
  })
}

/** Merges the streams of the topics. */
async function* merge(topics: readonly Topic[], call: Call, signal: AbortSignal | undefined) {
  const controller = new AbortController()
  const waiting: LiveEvent[] = []
  let [failure, running]: [unknown, number] = [undefined, topics.length]
  let [wakeReader, wakeStreams] = [() => {}, [] as (() => void)[]]
  const stop = () => {
    controller.abort()
    wakeReader()
  }
  if (signal?.aborted) return
  signal?.addEventListener('abort', stop, { once: true })
  const push = async (event: LiveEvent) => {
    waiting.push(event)
    wakeReader()
    while (waiting.length >= waitingMax && !controller.signal.aborted)
      await new Promise<void>((resolve) => wakeStreams.push(resolve))
  }
  for (const topic of topics)
    follow(topic, call, controller.signal, push)
      .catch((error) => {
        failure ??= error
      })
      .finally(() => {
        running--
        wakeReader()
      })
  try {
    while (true) {
      const event = waiting.shift()
      if (event !== undefined) {
        for (const wake of wakeStreams.splice(0)) wake()
        yield event
      } else if (failure !== undefined && !signal?.aborted) throw failure
      else if (running === 0 || signal?.aborted) return
      else
        await new Promise<void>((resolve) => {
          wakeReader = resolve
        })
    }
  } finally {
    controller.abort()
    for (const wake of wakeStreams.splice(0)) wake()
    signal?.removeEventListener('abort', stop)
  }
}

/** Follows one topic until it is stopped, or until the platform rejects it permanently. */
async function follow(topic: Topic, call: Call, signal: AbortSignal, push: (event: LiveEvent) => Promise<void>) {
  let [lastId, failures, opened]: [string | undefined, number, boolean] = [undefined, 0, false]
  const { initial, ...watched } = topic
  const isNew = createMemory()
  while (!signal.aborted) {
    let reason = 'the connection ended'
    try {
      const args = { ...watched, ...(lastId === undefined ? { initial } : { 'last-event-id': lastId }) }
      const answer = await call(watch, args, { signal })
      for await (const event of answer.body as AsyncIterable<ServerEvent>) {
        if (event.event === 'end') {
          reason = reasonOf(event.data)
          break
        }
        failures = 0
        if (event.event === 'open') await push({ type: 'open', topic, resumed: opened })
        else if (event.event === 'points') {
          const points = newPoints(JSON.parse(event.data), isNew)
          if (Object.keys(points).length > 0) await push({ type: 'points', topic, points })
        } else if (event.event === 'gap') await push({ type: 'gap', topic, reason: reasonOf(event.data) })
        opened = true
        // The id is stored after the reader has the event. If it were stored earlier, a reconnect in between would lose the event.
        lastId = event.id ?? lastId
      }
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error)) throw error
      reason = error instanceof Error ? error.message : String(error)
    }
    if (signal.aborted) return
    await push({ type: 'interrupted', topic, reason })
    // Without an id the stream cannot resume, so points may be missing.
    if (opened && lastId === undefined) await push({ type: 'gap', topic, reason: 'missed' })
    failures++
    await sleep(delayMsOf(failures, undefined, Math.random), signal)
  }
}

function newPoints(points: LivePoints, isNew: (key: string) => boolean): LivePoints {
  const endpoints = Object.entries(points).map(([endpointId, bySeries]) => {
    const series = Object.entries(bySeries).map(([name, list]) => [
      name,
      list.filter(({ timestamp, values }) => isNew(pointKeyOf(endpointId, name, timestamp, values))),
    ])
    return [endpointId, Object.fromEntries(series.filter(([, list]) => list!.length > 0))] as const
  })
  return Object.fromEntries(endpoints.filter(([, series]) => Object.keys(series).length > 0))
}
