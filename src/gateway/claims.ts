/**
 * Of several connections of one client the last one has its session (MQTT-3.1.4-3), on whichever node. Each CONNECT claims the
 * client with a number that grows in the database (`store/holders.ts`) and tells the node that had it; that node ends its
 * connection and writes the session. The newcomer waits for that where it wants the session.
 */
import { monotonicMs, sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { Sessions } from './mqtt/host.ts'
import { type Claim, MessagesQueued, SessionsClaimed, SessionsReleased } from './signals.ts'

export interface Claims {
  nodeId: string
  /** Whether this is another node, and alive. */
  isElsewhere(nodeId: string | null | undefined): nodeId is string
  /** The three below send with the commit of `sql`, each entry to its node. */
  announce(sql: Sql, claims: { to: string; claim: Claim }[]): Promise<void>
  release(sql: Sql, sessions: { to: string; key: string }[]): Promise<void>
  queued(sql: Sql, sessions: { to: string; key: string }[]): Promise<void>
  /** Listens from now on, before anybody knows that there is something to wait for. */
  expect(key: string): Expectation
}

export interface Expectation {
  /** Resolves when the holder has written the session, or does not seem to. */
  released(holder: string): Promise<void>
  end(): void
}

/** Then the session is used as it was written last. */
const waitMs = 1500
/** A node that did not answer so often is not waited for again so soon: its whole fleet may be coming. */
const missesMax = 3
const silentMs = 5000

export function createClaims(
  { signals, members, log }: Pick<Kit, 'signals' | 'members' | 'log'>,
  sessions: () => Sessions | undefined,
): Claims {
  const { nodeId } = members
  const waiting = new Map<string, Set<() => void>>()
  const silent = new Map<string, { misses: number; until: number }>()

  signals.on(SessionsClaimed, ({ claims }, by) => {
    for (const claim of claims) sessions()?.yield({ ...claim, by })
  })
  // One after the other: a message that two signals are about is fetched once.
  let fetching = Promise.resolve()
  signals.on(MessagesQueued, ({ keys }) => {
    fetching = fetching
      .then(() => sessions()?.fetch(keys))
      .catch((error) => log.error({ err: error }, 'reading queued messages failed; they wait for the next CONNECT'))
  })
  signals.on(SessionsReleased, ({ keys }, by) => {
    silent.delete(by)
    for (const key of keys) for (const wake of waiting.get(key) ?? []) wake()
  })
  signals.onReset(() => sessions()?.catchUp())

  const keysByNode = (all: { to: string; key: string }[]) =>
    [...Map.groupBy(all, ({ to }) => to)].map(([to, ofNode]) => ({
      to: `node/${to}` as const,
      payload: { keys: ofNode.map(({ key }) => key) },
    }))

  return {
    nodeId,
    isElsewhere: (other): other is string => typeof other === 'string' && other !== nodeId && members.isAlive(other),
    announce: (sql, all) =>
      signals.sendEach(
        sql,
        SessionsClaimed,
        [...Map.groupBy(all, ({ to }) => to)].map(([to, ofNode]) => ({
          to: `node/${to}` as const,
          payload: { claims: ofNode.map(({ claim }) => claim) },
        })),
      ),
    release: (sql, all) => signals.sendEach(sql, SessionsReleased, keysByNode(all)),
    queued: (sql, all) => signals.sendEach(sql, MessagesQueued, keysByNode(all)),
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
          if (misses === 0)
            log.warn({ holder }, 'a node does not release a session; using the session as it was stored')
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

/** For a node that has the database for itself. */
export const alone = (nodeId: string): Claims => ({
  nodeId,
  isElsewhere: (_other): _other is string => false,
  async announce() {},
  async release() {},
  async queued() {},
  expect: () => ({ async released() {}, end() {} }),
})
