/**
 * Which nodes are alive, and cleaning up after those that died. A node is a process with an id of its own and one row in
 * `kernel.nodes`, which it touches with a heartbeat. Only the database's clock decides who is alive.
 */
import type { Db, Sql } from './db.ts'
import { newId } from './ids.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface Member {
  id: string
  version: string
  startedAt: Date
  addresses: Record<string, string>
}

/** Rows that belong to a node and are void when it dies. */
export interface Leftovers {
  /** As in `gateway.bindings`; for logs. */
  name: string
  /** Ids of all nodes that have such rows: finds those of nodes that have no row in `kernel.nodes`, as after a restore. */
  owners(sql: Sql): Promise<string[]>
  /** Ends what the dead node left, in transactions of its own. Runs on one node at a time, and again after a failure. */
  sweep(nodeId: string): Promise<void>
}

export interface Members {
  /** Of this process. */
  nodeId: string
  /** Other nodes that were alive at the last heartbeat. */
  others(): Member[]
  /** True when this node has joined and no other node is alive. A process that has not joined does not know, and says false. */
  isAlone(): boolean
  isAlive(nodeId: string): boolean
  leftovers(leftovers: Leftovers): void
  onJoin(listener: (nodeId: string) => void): void
  /** Called on every node when another one stopped or died, before its leftovers are swept. */
  onLeave(listener: (nodeId: string) => void): void
  /** This node was taken for dead, or its row is gone, and its leftovers may have been swept: write them again. */
  onReturn(listener: () => void): void
  setAddresses(addresses: Record<string, string>): void
  /** Reads the table now instead of with the next heartbeat. */
  refresh(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A node without a heartbeat for `silentSeconds` is dead. */
export const usualTiming = { beatMs: 1500, silentSeconds: 5 }
const leaseSeconds = 30
const ownersEveryMs = 600_000

interface Row extends Member {
  gone: boolean
  silent: number
  sweptBy: string | null
  sweepEnded: boolean
  beaten: boolean
}

export function createMembers(deps: {
  db: Db
  version: string
  log: Log
  metrics: Metrics
  timing?: typeof usualTiming
}): Members {
  const { db, version, log, timing: { beatMs, silentSeconds } = usualTiming } = deps
  const nodeId = newId()
  const leftovers: Leftovers[] = []
  const listeners = {
    join: [] as ((id: string) => void)[],
    leave: [] as ((id: string) => void)[],
    return: [] as (() => void)[],
  }
  let others = new Map<string, Member>()
  let addresses: Record<string, string> = {}
  let [joined, stopped] = [false, false]
  /** Seconds for which this node has read the table without a pause, by the database's clock. */
  let watchedSeconds = 0
  let beating: Promise<void> | undefined
  let sweeping: Promise<void> | undefined
  let timers: NodeJS.Timeout[] = []

  deps.metrics.gauge('waypost_nodes_alive', 'Nodes with a recent heartbeat, this one included', [], (gauge) =>
    gauge.set(others.size + (joined ? 1 : 0)),
  )

  async function beat() {
    const rows = await touch(db.sql, nodeId, addresses)
    const own = rows.find(({ id }) => id === nodeId)
    // After a pause of the own heartbeats the database may have been away, for the others too.
    if (own?.beaten) watchedSeconds = own.silent > silentSeconds * 0.8 ? 0 : watchedSeconds + own.silent
    // While another node sweeps what this one left, writing it again would be in vain.
    else if (!own || own.sweepEnded) await comeBack()
    const dead = rows.filter((row) => row.id !== nodeId && isDead(row))
    remember(rows.filter((row) => row.id !== nodeId && !row.gone && row.silent < silentSeconds))
    if (dead.length > 0) sweep(dead.map(({ id }) => id))
  }

  const isDead = ({ gone, silent }: Row) => gone || (silent > silentSeconds && watchedSeconds > silentSeconds)

  function remember(alive: Row[]) {
    const before = others
    others = new Map(alive.map(({ id, version, startedAt, addresses }) => [id, { id, version, startedAt, addresses }]))
    for (const id of before.keys()) if (!others.has(id)) call(listeners.leave, id)
    for (const id of others.keys()) if (!before.has(id)) call(listeners.join, id)
  }

  function call<A extends unknown[]>(all: ((...args: A) => void)[], ...args: A) {
    for (const listener of all)
      try {
        listener(...args)
      } catch (error) {
        log.error({ err: error }, 'a listener for changes of the node list failed')
      }
  }

  async function comeBack() {
    await insertNode(db.sql, nodeId, version, addresses)
    watchedSeconds = 0
    log.warn({ nodeId }, 'other nodes took this node for dead, or its row was removed; it joins again')
    call(listeners.return)
  }

  function sweep(ids: string[]) {
    sweeping ??= sweepAll(ids)
      .catch((error) => log.error({ err: error }, 'cleaning up after a dead node failed; retrying'))
      .finally(() => {
        sweeping = undefined
      })
  }

  async function sweepAll(ids: string[]) {
    for (const id of ids) {
      const claimed = await db.sql`
        update kernel.nodes set swept_by = ${nodeId}, swept_until = now() + make_interval(secs => ${leaseSeconds})
        where id = ${id} and (gone or seen_at < now() - make_interval(secs => ${silentSeconds}))
          and (swept_until is null or swept_until < now())`
      if (claimed.count === 0) continue
      const renewing = setInterval(() => void renew(id), (leaseSeconds * 1000) / 3).unref()
      try {
        for (const { name, sweep } of leftovers) {
          await sweep(id)
          log.debug({ nodeId: id, leftovers: name }, 'cleaned up after a dead node')
        }
        await db.sql`delete from kernel.nodes where id = ${id} and swept_by = ${nodeId}`
      } catch (error) {
        log.error({ err: error, nodeId: id }, 'cleaning up after a dead node failed; retrying')
        await db.sql`
          update kernel.nodes set swept_until = now() + make_interval(secs => ${silentSeconds}) where id = ${id} and swept_by = ${nodeId}`
      } finally {
        clearInterval(renewing)
      }
    }
  }

  const renew = (id: string) =>
    db.sql`
      update kernel.nodes set swept_until = now() + make_interval(secs => ${leaseSeconds})
      where id = ${id} and swept_by = ${nodeId}`.then(
      () => {},
      (error) => log.warn({ err: error, nodeId: id }, 'renewing the lease on a dead node failed; retrying'),
    )

  /** Rows of nodes that the table does not know get a row there, so that they are swept like those of any dead node. */
  async function findUnknownOwners() {
    for (const { name, owners } of leftovers) {
      const found = await owners(db.sql)
      if (found.length === 0) continue
      const unknown = await db.sql`
        insert into kernel.nodes (id, version, gone) select id, '', true from unnest(${found}::text[]) as id
        where id <> ${nodeId} on conflict do nothing`
      if (unknown.count > 0) log.info({ leftovers: name, nodes: unknown.count }, 'found rows of nodes that are gone')
    }
  }

  const attempt = (work: () => Promise<void>, failure: string) =>
    work().catch((error) => log.warn({ err: error }, failure))

  function refresh(): Promise<void> {
    beating ??= beat().finally(() => {
      beating = undefined
    })
    return beating
  }

  return {
    nodeId,
    others: () => [...others.values()],
    isAlone: () => joined && others.size === 0,
    isAlive: (id) => (id === nodeId ? joined : others.has(id)),
    leftovers: (some) => void leftovers.push(some),
    onJoin: (listener) => void listeners.join.push(listener),
    onLeave: (listener) => void listeners.leave.push(listener),
    onReturn: (listener) => void listeners.return.push(listener),
    setAddresses(given) {
      addresses = given
    },
    async refresh() {
      if (stopped) return
      // A heartbeat under way may have read the table before what the caller wants to see.
      await beating
      await refresh()
    },
    async start() {
      // In this order, the later one of two nodes that start at once finds the other.
      await insertNode(db.sql, nodeId, version, addresses)
      await refresh()
      joined = true
      await findUnknownOwners()
      const beats = () => attempt(refresh, `heartbeat failed; retrying in ${beatMs} ms`)
      const owners = () => attempt(findUnknownOwners, 'looking for rows of nodes that are gone failed; retrying later')
      timers = [setInterval(beats, beatMs).unref(), setInterval(owners, ownersEveryMs).unref()]
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      stopped = true
      if (!joined) return
      await beating?.catch(() => {})
      await sweeping
      joined = false
      others = new Map()
      await attempt(async () => {
        await db.sql`update kernel.nodes set gone = true where id = ${nodeId}`
      }, 'other nodes could not be told that this node stops; they notice by its missing heartbeat')
    },
  }
}

/** Own row touched, all rows as they were before: `silent` of the own row is the time since the heartbeat before this one. */
const touch = (sql: Sql, nodeId: string, addresses: Record<string, string>) =>
  sql<Row[]>`
    with beat as (
      update kernel.nodes set seen_at = now(), addresses = ${JSON.stringify(addresses)}::text::jsonb
      where id = ${nodeId} and swept_by is null and not gone returning id)
    select id, version, started_at, addresses, gone, swept_by, extract(epoch from now() - seen_at)::float8 as silent,
      coalesce(swept_until < now(), true) as sweep_ended, exists (select from beat) as beaten
    from kernel.nodes`

const insertNode = (sql: Sql, nodeId: string, version: string, addresses: Record<string, string>) =>
  sql`
    insert into kernel.nodes (id, version, addresses) values (${nodeId}, ${version}, ${JSON.stringify(addresses)}::text::jsonb)
    on conflict (id) do update set seen_at = now(), gone = false, swept_by = null, swept_until = null`
