/**
 * Decides which node has the session of a client: the node with the latest CONNECT (MQTT-3.1.4-3). Each CONNECT gets a growing claim number
 * (`store/holders.ts`) and signals the previous node. That node closes its connection, writes the session and releases it.
 */
import { monotonicMs, sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { queuedMessagesNotRead, sessionNotReleased } from './log-messages.ts'
import type { Sessions } from './mqtt/host.ts'
import { type Claim, MessagesQueued, SessionsClaimed, SessionsReleased } from './signals.ts'

export interface SessionClaims {
  nodeId: string
  /** Returns true if the id belongs to another node, and that node is alive. */
  isOtherNode(nodeId: string | null | undefined): nodeId is string
  /**
   * Signals previous nodes that this node has claimed sessions. This and the next two functions signal each node `to` when the transaction
   * `sql` commits.
   */
  announceClaims(sql: Sql, claims: { to: string; claim: Claim }[]): Promise<void>
  announceReleases(sql: Sql, sessions: { to: string; key: string }[]): Promise<void>
  announceQueued(sql: Sql, sessions: { to: string; key: string }[]): Promise<void>
  /** Starts waiting for the release of a session. Call it before the session is loaded, so that no signal is missed. */
  expectRelease(key: string): Expectation
}

export interface Expectation {
  /** Resolves when the node `holder` has written the session, or after a time-out. */
  released(holder: string): Promise<void>
  end(): void
}

/** Maximum time to wait for the release of a session. After this time, the session is used in the state that was stored last. */
const waitMs = 1500
/**
 * After three time-outs, this node does not wait for the other node during the next 5 s. The other node may have failed, and then all its
 * clients reconnect to this node.
 */
const missesMax = 3
const silentMs = 5000

export function createSessionClaims(
  { signals, members, log }: Pick<Kit, 'signals' | 'members' | 'log'>,
  sessions: () => Sessions | undefined,
): SessionClaims {
  const { nodeId } = members
  const waiting = new Map<string, Set<() => void>>()
  const silentNodes = new Map<string, { misses: number; until: number }>()

  signals.on(SessionsClaimed, ({ claims }, by) => {
    for (const claim of claims) sessions()?.yield({ ...claim, by })
  })
  // Fetches run one after the other, so that a message is fetched once even if two signals name its session.
  let fetching = Promise.resolve()
  signals.on(MessagesQueued, ({ keys }) => {
    fetching = fetching.then(() => sessions()?.fetch(keys)).catch((error) => queuedMessagesNotRead(log, { err: error }))
  })
  signals.on(SessionsReleased, ({ keys }, by) => {
    silentNodes.delete(by)
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
    isOtherNode: (other): other is string => typeof other === 'string' && other !== nodeId && members.isAlive(other),
    announceClaims: (sql, all) =>
      signals.sendEach(
        sql,
        SessionsClaimed,
        [...Map.groupBy(all, ({ to }) => to)].map(([to, ofNode]) => ({
          to: `node/${to}` as const,
          payload: { claims: ofNode.map(({ claim }) => claim) },
        })),
      ),
    announceReleases: (sql, all) => signals.sendEach(sql, SessionsReleased, keysByNode(all)),
    announceQueued: (sql, all) => signals.sendEach(sql, MessagesQueued, keysByNode(all)),
    expectRelease(key) {
      let wake = () => {}
      const signalled = new Promise<boolean>((resolve) => {
        wake = () => resolve(true)
      })
      const wakes = waiting.get(key) ?? new Set()
      waiting.set(key, wakes.add(wake))
      return {
        async released(holder) {
          const before = silentNodes.get(holder)
          if (before && before.misses >= missesMax && before.until > monotonicMs()) return
          if (await Promise.race([signalled, sleep(waitMs).then(() => false)])) return
          const { misses } = silentNodes.get(holder) ?? { misses: 0 }
          if (misses === 0) sessionNotReleased(log, { holder })
          silentNodes.set(holder, { misses: misses + 1, until: monotonicMs() + silentMs })
        },
        end() {
          wakes.delete(wake)
          if (wakes.size === 0 && waiting.get(key) === wakes) waiting.delete(key)
        },
      }
    },
  }
}

/** Creates session claims for tests in which only one node uses the database. */
export const singleNodeClaims = (nodeId: string): SessionClaims => ({
  nodeId,
  isOtherNode: (_other): _other is string => false,
  async announceClaims() {},
  async announceReleases() {},
  async announceQueued() {},
  expectRelease: () => ({ async released() {}, end() {} }),
})
