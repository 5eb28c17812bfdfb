/**
 * Tracks which nodes are alive, and cleans up after dead nodes. Each node has an id and one row in `kernel.nodes`, which it updates with
 * heartbeats. Only the database's clock decides which nodes are alive.
 */
import type { Db } from './db.ts'
import type { LogMessage } from './define-log-message.ts'
import { newId } from './ids.ts'
import type { Log } from './log.ts'
import {
  heartbeatFailed,
  leaveNoticeFailed,
  memberListenerFailed,
  nodeReturned,
  orphanSearchFailed,
  sweepFailed,
} from './log-messages.ts'
import { insertNode, markStopped, type NodeRow, touchNode } from './members/rows.ts'
import { findUnknownOwners, sweepDead } from './members/sweep.ts'
import type { Member, OwnedRows } from './members/types.ts'
import type { Metrics } from './metrics.ts'

export type { Member, OwnedRows } from './members/types.ts'

export interface Members {
  /** The id of this node. */
  nodeId: string
  /** Other nodes that were alive at the last heartbeat. */
  others(): Member[]
  /** Returns true if this node has joined and no other node is alive. A process that has not joined returns false. */
  isAlone(): boolean
  isAlive(nodeId: string): boolean
  /** Declares rows that belong to a node. When the node dies, another node sweeps its rows. */
  declareOwnedRows(ownedRows: OwnedRows): void
  onJoin(listener: (nodeId: string) => void): void
  /** Called on every node when another node stopped or died, before its rows are swept. */
  onLeave(listener: (nodeId: string) => void): void
  /**
   * Called on every node when another node has lost the connection on which it listens, for example because it was killed. This is seconds
   * before `onLeave`.
   */
  onSilent(listener: (nodeId: string) => void): void
  /**
   * Called if other nodes considered this node dead, or if its row is missing. The rows that this node owns may have been swept, so the
   * listener must write them again.
   */
  onReturn(listener: () => void): void
  setAddresses(addresses: Record<string, string>): void
  /** Sets the id of the server process for the connection on which this node listens. */
  setListener(processId: number | undefined): void
  /** Reads `kernel.nodes` now instead of with the next heartbeat. */
  refresh(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A node without a heartbeat for `deadAfterSeconds` is dead. */
export const defaultTiming = { heartbeatMs: 1000, deadAfterSeconds: 5 }
const ownerSearchMs = 600_000

interface MembersDeps {
  db: Db
  version: string
  log: Log
  metrics: Metrics
  timing?: typeof defaultTiming
}

/** The state of this node, with the other nodes as of the last heartbeat. */
interface Node extends Omit<MembersDeps, 'metrics' | 'timing'> {
  nodeId: string
  heartbeatMs: number
  deadAfterSeconds: number
  ownedRows: OwnedRows[]
  listeners: {
    join: ((id: string) => void)[]
    leave: ((id: string) => void)[]
    silent: ((id: string) => void)[]
    return: (() => void)[]
  }
  others: Map<string, Member>
  /** The other nodes whose connection for LISTEN was open at the last heartbeat. */
  listening: Set<string>
  listener: number | undefined
  addresses: Record<string, string>
  joined: boolean
  stopped: boolean
  /** The time for which this node has written its heartbeats without a gap, in seconds of the database's clock. */
  watchedSeconds: number
  heartbeat: Promise<void> | undefined
  sweeping: Promise<void> | undefined
  timers: NodeJS.Timeout[]
}

export function createMembers({ metrics, timing = defaultTiming, ...deps }: MembersDeps): Members {
  const node: Node = {
    ...deps,
    ...timing,
    nodeId: newId(),
    ownedRows: [],
    listeners: { join: [], leave: [], silent: [], return: [] },
    others: new Map(),
    listening: new Set(),
    listener: undefined,
    addresses: {},
    joined: false,
    stopped: false,
    watchedSeconds: 0,
    heartbeat: undefined,
    sweeping: undefined,
    timers: [],
  }
  metrics.gauge('waypost_nodes_alive', 'Number of nodes with a recent heartbeat, this node included.', [], (gauge) =>
    gauge.set(node.others.size + (node.joined ? 1 : 0)),
  )
  return {
    nodeId: node.nodeId,
    others: () => [...node.others.values()],
    isAlone: () => node.joined && node.others.size === 0,
    isAlive: (id) => (id === node.nodeId ? node.joined : node.others.has(id)),
    declareOwnedRows: (ownedRows) => void node.ownedRows.push(ownedRows),
    onJoin: (listener) => void node.listeners.join.push(listener),
    onLeave: (listener) => void node.listeners.leave.push(listener),
    onSilent: (listener) => void node.listeners.silent.push(listener),
    onReturn: (listener) => void node.listeners.return.push(listener),
    setAddresses(addresses) {
      node.addresses = addresses
    },
    setListener(processId) {
      node.listener = processId
    },
    async refresh() {
      if (node.stopped) return
      // A heartbeat that is already running may have read the table before the change that the caller waits for.
      await node.heartbeat
      await refresh(node)
    },
    start: () => start(node),
    stop: () => stop(node),
  }
}

async function start(node: Node) {
  const { db, nodeId, version, addresses, heartbeatMs } = node
  // The row is inserted before the table is read. If two nodes start at the same time, the later node therefore finds the earlier node.
  await insertNode(db.sql, nodeId, version, addresses)
  await refresh(node)
  node.joined = true
  await findUnknownOwners(node)
  const heartbeat = () => logFailure(node, () => refresh(node), heartbeatFailed)
  const searchOwners = () => logFailure(node, () => findUnknownOwners(node), orphanSearchFailed)
  node.timers = [setInterval(heartbeat, heartbeatMs).unref(), setInterval(searchOwners, ownerSearchMs).unref()]
}

async function stop(node: Node) {
  for (const timer of node.timers) clearInterval(timer)
  node.stopped = true
  if (!node.joined) return
  await node.heartbeat?.catch(() => {})
  await node.sweeping
  node.joined = false
  node.others = new Map()
  await logFailure(node, () => markStopped(node.db.sql, node.nodeId), leaveNoticeFailed)
}

const logFailure = ({ log }: Node, work: () => Promise<void>, failed: LogMessage) =>
  work().catch((error) => failed(log, { err: error }))

/** Runs a heartbeat. Callers that come while a heartbeat is running share it. */
function refresh(node: Node): Promise<void> {
  node.heartbeat ??= writeHeartbeat(node).finally(() => {
    node.heartbeat = undefined
  })
  return node.heartbeat
}

async function writeHeartbeat(node: Node) {
  const { db, nodeId, deadAfterSeconds } = node
  const rows = await touchNode(db.sql, nodeId, node)
  const ownRow = rows.find(({ id }) => id === nodeId)
  // After a gap in the heartbeats of this node, no node counts as dead yet, because the database may have been unreachable for all nodes.
  if (ownRow?.isWritten)
    node.watchedSeconds =
      ownRow.secondsSinceHeartbeat > deadAfterSeconds * 0.8 ? 0 : node.watchedSeconds + ownRow.secondsSinceHeartbeat
  // A node that was considered dead joins again only after the sweep of its rows. Otherwise the sweep would delete rows that the node has
  // written again.
  else if (!ownRow || ownRow.sweepEnded) await rejoin(node)
  const dead = rows.filter((row) => row.id !== nodeId && isDead(node, row))
  updateOthers(
    node,
    rows.filter((row) => row.id !== nodeId && !row.gone && row.secondsSinceHeartbeat < deadAfterSeconds),
  )
  if (dead.length > 0) sweep(node, dead)
}

const isDead = ({ deadAfterSeconds, watchedSeconds }: Node, { gone, secondsSinceHeartbeat }: NodeRow) =>
  gone || (secondsSinceHeartbeat > deadAfterSeconds && watchedSeconds > deadAfterSeconds)

function updateOthers(node: Node, alive: NodeRow[]) {
  const before = node.others
  const others = alive.map(({ id, version, startedAt, addresses }) => ({ id, version, startedAt, addresses }))
  node.others = new Map(others.map((member) => [member.id, member]))
  for (const id of before.keys()) if (!node.others.has(id)) callListeners(node, node.listeners.leave, id)
  for (const id of node.others.keys()) if (!before.has(id)) callListeners(node, node.listeners.join, id)
  const silent = alive.filter(({ id, isListening }) => !isListening && node.listening.has(id))
  node.listening = new Set(alive.filter(({ isListening }) => isListening).map(({ id }) => id))
  for (const { id } of silent) callListeners(node, node.listeners.silent, id)
}

function callListeners<A extends unknown[]>({ log }: Node, listeners: ((...args: A) => void)[], ...args: A) {
  for (const listener of listeners)
    try {
      listener(...args)
    } catch (error) {
      memberListenerFailed(log, { err: error })
    }
}

async function rejoin(node: Node) {
  const { db, nodeId, version, addresses, log } = node
  await insertNode(db.sql, nodeId, version, addresses)
  node.watchedSeconds = 0
  nodeReturned(log, { nodeId })
  callListeners(node, node.listeners.return)
}

function sweep(node: Node, dead: NodeRow[]) {
  node.sweeping ??= sweepDead(
    node,
    dead.map(({ id }) => id),
  )
    .catch((error) => sweepFailed(node.log, { err: error }))
    .finally(() => {
      node.sweeping = undefined
    })
}
