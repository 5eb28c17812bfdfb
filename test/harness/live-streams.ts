/** Fixture for tests of live streams: services with open listeners, and callers whose permissions can change. */
import assert from 'node:assert/strict'
import { Identity } from '../../src/identity/contract.ts'
import type { Caller } from '../../src/kernel/contract.ts'
import type { AnyService } from '../../src/kernel/define-service.ts'
import { Unauthenticated } from '../../src/kernel/errors.ts'
import { newId } from '../../src/kernel/ids.ts'
import live from '../../src/services/live/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { aTenantAdmin } from './builders.ts'
import { type EventSource, openEventSource, type SentEvent } from './event-source.ts'
import { eventually } from './eventually.ts'
import { openGateway, services } from './gateway.ts'
import type { TestPlatformOptions } from './test-platform.ts'

export interface Subscribed {
  id: string
  topic: string
  [filter: string]: unknown
}

export interface TestStream extends EventSource {
  streamId: string
  /** Returns the items of a subscription that have arrived so far. */
  items(subscription: string): Record<string, unknown>[]
  /** Returns the reasons of the `gap` events so far. Each event tells that items of a subscription were not delivered. */
  gaps(subscription?: string): string[]
  /** Waits for the events `subscribed` or `ended` of all these subscriptions. */
  active(...subscriptions: string[]): Promise<void>
  /** Waits for the end of a subscription. */
  ended(subscription: string): Promise<{ status: number; code: string; message: string }>
  /** The id of the last event that has an id. */
  lastId(): string | undefined
}

export async function openStreams({
  more = [],
  ...options
}: Partial<TestPlatformOptions> & { more?: AnyService[] } = {}) {
  const callers = new Map<string, Caller>()
  const opened = await openGateway({
    ...options,
    services: [...services, timeSeries, ...more, live],
    authenticate: (waypost) => async (headers) => {
      const { authorization } = headers
      if (!authorization?.startsWith('Test ')) return await waypost.ask(Identity).authenticate(headers)
      const caller = callers.get(authorization)
      if (!caller) throw Unauthenticated()
      return caller
    },
  })
  const { httpUrl } = opened
  /**
   * Returns headers that authenticate a caller. `replaceWith` replaces the caller for these headers; undefined makes the headers invalid.
   */
  const aReplaceableCaller = (caller: Caller = aTenantAdmin()) => {
    const authorization = `Test ${newId()}`
    callers.set(authorization, caller)
    return {
      caller,
      headers: { authorization },
      replaceWith: (other: Caller | undefined) =>
        void (other ? callers.set(authorization, other) : callers.delete(authorization)),
    }
  }
  return {
    ...opened,
    aReplaceableCaller,
    /** Opens a stream and waits until it is open. By default, the caller is a tenant administrator; headers can name another caller. */
    async stream(subscriptions: Subscribed[], headers: Record<string, string> = {}): Promise<TestStream> {
      const all = { ...aReplaceableCaller().headers, ...headers }
      const source = await openEventSource(`${httpUrl}/live/api/v1/streams`, all, { subscriptions })
      assert.equal(source.status, 200, source.status === 200 ? '' : await source.text())
      return await streamOf(source)
    },
    async change(streamId: string, subscriptions: unknown, headers: Record<string, string>) {
      const answer = await fetch(`${httpUrl}/live/api/v1/streams/${streamId}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ subscriptions }),
      })
      return { status: answer.status, body: (await answer.json()) as { message?: string } }
    },
  }
}

async function streamOf(source: EventSource): Promise<TestStream> {
  const { streamId } = (await source.next('open')).data
  const all = (...names: string[]): SentEvent[] => source.events.filter(({ event }) => names.includes(event))
  const onlyOf = (subscription: string, events: SentEvent[]) =>
    events.filter(({ data }) => data.subscription === subscription)
  return {
    ...source,
    streamId,
    items: (subscription) => onlyOf(subscription, source.events).flatMap(({ data }) => data.items ?? []),
    gaps: (subscription) =>
      (subscription === undefined ? all('gap') : onlyOf(subscription, all('gap'))).map(({ data }) => data.reason),
    active: (...subscriptions) =>
      eventually(
        () => {
          const known = new Set(all('subscribed', 'ended').map(({ data }) => data.subscription))
          assert.deepEqual(
            subscriptions.filter((id) => !known.has(id)),
            [],
          )
        },
        { everyMs: 5 },
      ),
    ended: (subscription) =>
      eventually(
        () => {
          const [end] = onlyOf(subscription, all('ended'))
          assert.ok(end, JSON.stringify(source.events.slice(-3)))
          return end.data
        },
        { everyMs: 5 },
      ),
    lastId: () => source.events.findLast(({ id }) => id !== undefined)?.id,
  }
}
