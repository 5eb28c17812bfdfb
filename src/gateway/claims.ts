/**
 * Of several connections of one client the last one has its session (MQTT-3.1.4-3), in whichever process. Each CONNECT claims the
 * session with a number that grows in the database, and tells the other processes; who has a connection with a smaller one ends it and
 * writes down what the session holds. The newcomer waits for that where it wants the session.
 */
import type { Bus } from '../kernel/bus.ts'
import { inParts } from '../kernel/bus.ts'
import { monotonicMs, sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { MessagesQueued, SessionsClaimed, SessionsReleased } from './events.ts'
import type { Sessions } from './mqtt/host.ts'

/** `clean`: what the session holds is not wanted. */
export interface Claim {
  key: string
  claim: number
  clean: boolean
}

export interface Claims {
  nodeId: string
  /** In the transaction in which they got their numbers. */
  announce(sql: Sql, claims: Claim[]): Promise<void>
  /** In the transaction in which they were written down. */
  release(sql: Sql, keys: string[]): Promise<void>
  /** In the transaction in which messages were queued for clients that are away here: they may be somewhere else by now. */
  queued(sql: Sql, keys: string[]): Promise<void>
  /** Listens from now on, before anybody knows that there is something to hear. */
  expect(key: string): Expectation
}

export interface Expectation {
  /** Resolves when its holder has written the session down, or does not seem to. */
  released(holder: string): Promise<void>
  end(): void
}

/** Then the session is taken as it was written last. */
const waitMs = 1500
/** A process that did not answer so often is not waited for again so soon: its whole fleet may be coming. */
const missesMax = 3
const silentMs = 5000

export function createClaims(deps: {
  bus: Bus
  nodeId: string
  log: Log
  sessions: () => Sessions | undefined
}): Claims {
  const { bus, nodeId, log } = deps
  const waiting = new Map<string, Set<() => void>>()
  const silent = new Map<string, { misses: number; until: number }>()
  /** Neither side is of a tenant: anonymous clients have none. */
  const tenantId = ''

  bus.hear(SessionsClaimed, ({ nodeId: by, claims }) => {
    if (by !== nodeId) for (const claim of claims) deps.sessions()?.yield(claim)
  })
  // One word after the other: a message that two of them tell of is looked for once.
  let fetching = Promise.resolve()
  bus.hear(MessagesQueued, ({ nodeId: by, keys }) => {
    if (by === nodeId) return
    fetching = fetching
      .then(() => deps.sessions()?.fetch(keys))
      .catch((error) => log.error({ err: error }, 'what was queued elsewhere waits until its clients connect again'))
  })
  bus.onGap(() => deps.sessions()?.catchUp())
  bus.hear(SessionsReleased, ({ nodeId: by, keys }) => {
    if (by === nodeId) return
    silent.delete(by)
    for (const key of keys) for (const wake of waiting.get(key) ?? []) wake()
  })

  return {
    nodeId,
    async announce(sql, claims) {
      for (const part of inParts(claims)) await bus.publish(sql, SessionsClaimed, { tenantId, nodeId, claims: part })
    },
    async release(sql, all) {
      for (const keys of inParts(all)) await bus.publish(sql, SessionsReleased, { tenantId, nodeId, keys })
    },
    async queued(sql, all) {
      for (const keys of inParts(all)) await bus.publish(sql, MessagesQueued, { tenantId, nodeId, keys })
    },
    expect(key) {
      let wake = () => {}
      const told = new Promise<boolean>((resolve) => {
        wake = () => resolve(true)
      })
      const wakes = waiting.get(key) ?? new Set()
      waiting.set(key, wakes.add(wake))
      return {
        async released(holder) {
          const before = silent.get(holder)
          if (before && before.misses >= missesMax && before.until > monotonicMs()) return
          if (await Promise.race([told, sleep(waitMs).then(() => false)])) return
          const { misses } = silent.get(holder) ?? { misses: 0 }
          if (misses === 0) log.warn({ holder }, 'another process does not let go of a session; it is taken as it was')
          silent.set(holder, { misses: misses + 1, until: monotonicMs() + silentMs })
        },
        end() {
          wakes.delete(wake)
          if (wakes.size === 0 && waiting.get(key) === wakes) waiting.delete(key)
        },
      }
    },
  }
}

/** For a process that has the database for itself. */
export const alone = (nodeId: string): Claims => ({
  nodeId,
  async announce() {},
  async release() {},
  async queued() {},
  expect: () => ({ async released() {}, end() {} }),
})
