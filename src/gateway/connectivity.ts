/**
 * Who has a connection, told to everybody else: rows of ours, events and the register's metadata, by the batch. An endpoint that
 * came and went within a batch is told as such once, however often it did. A row is there before anybody hears `connected` and
 * goes only after `disconnected` was told: what a process that died leaves behind is found by its rows.
 */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'
import type { Device, Presence } from './peers.ts'
import * as store from './store/bindings.ts'

export interface Connectivity {
  bound(presence: Presence): void
  unbound(presence: Presence, connection: Device): void
  /** Tells again what is so: after a gap. */
  again(presences: Iterable<Presence>): void
  /** Sets those to disconnected that a dead process left behind. */
  sweep(): Promise<void>
  start(): Promise<void>
  /** When everything is told. */
  stop(): Promise<void>
}

interface Change {
  of: Pick<Presence, 'endpointId' | 'applicationName' | 'versionName' | 'token'> & { tenantId: string }
  /** Kept beyond the connection. */
  sessionKey: string | undefined
  connected: boolean
  /** It was the other way round in between. */
  blinked: boolean
  at: Date
}

const flushMs = 50
const atOnce = 250
/** With ids of the greatest length it is still one message between processes. */
const endpointsInEvent = 100
const bytesInEvent = 6000
const beatMs = 1500
/** A process that has not been heard of for so long is dead. */
const silentSeconds = 5

export function createConnectivity(
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log' | 'secrets'> & { nodeId: string },
  register: Pick<Register, 'setConnectivity'>,
): Connectivity {
  const { db, bus, now, log, secrets, nodeId } = kit
  let changes = new Map<string, Change>()
  let flushing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let beating: NodeJS.Timeout | undefined

  function note(presence: Presence, connection: Device, connected: boolean) {
    const { endpointId, applicationName, versionName, token, tenant } = presence
    const before = changes.get(endpointId)
    const { client, sessionKey } = connection
    changes.set(endpointId, {
      of: { endpointId, applicationName, versionName, token, tenantId: tenant.tenantId },
      sessionKey: client.sessionExpirySeconds > 0 ? sessionKey : undefined,
      connected,
      blinked: before !== undefined && (before.blinked || before.connected !== connected),
      at: connected ? new Date(presence.boundAt) : now(),
    })
    timer ??= setTimeout(() => void flush(), flushMs)
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    flushing ??= work().finally(() => {
      flushing = undefined
      if (changes.size > 0) timer ??= setTimeout(() => void flush(), flushMs)
    })
    return flushing
  }

  async function work() {
    const all = [...changes.values()]
    changes = new Map()
    for (let from = 0; from < all.length; from += atOnce) {
      const some = all.slice(from, from + atOnce)
      try {
        await tell(some)
      } catch (error) {
        log.error({ err: error }, 'who is connected could not be told; trying again')
        // What was noted since is newer.
        for (const change of all.slice(from))
          if (!changes.has(change.of.endpointId)) changes.set(change.of.endpointId, change)
        return
      }
    }
  }

  async function tell(some: Change[]) {
    const came = some.filter(({ connected }) => connected)
    const went = some.filter(({ connected }) => !connected)
    const told = await db.tx(async (sql) => {
      if (came.length > 0) await store.saveBindings(sql, came.map(rowOf))
      // Those that another process has taken over meanwhile are its to tell of.
      const ours = await store.findBoundHere(sql, nodeId, idsOf(went))
      const gone = went.filter(({ of, blinked }) => blinked || ours.has(of.endpointId))
      await publish(sql, [...came.filter(isBlink), ...gone.filter(isBlink)], (change) => !change.connected)
      await publish(sql, [...came, ...gone], (change) => change.connected)
      return [...came, ...gone]
    })
    await register.setConnectivity(told.map(({ of, connected, at }) => ({ endpointId: of.endpointId, connected, at })))
    if (went.length > 0) await db.tx((sql) => store.endBindings(sql, nodeId, idsOf(went)))
  }

  const rowOf = ({ of, sessionKey, at }: Change): store.BindingRow => ({
    endpointId: of.endpointId,
    tenantId: of.tenantId,
    applicationName: of.applicationName,
    versionName: of.versionName,
    nodeId,
    sessionKey: sessionKey ?? null,
    tokenSealed: sessionKey === undefined ? null : secrets.seal(of.token),
    boundAt: at,
  })

  async function publish(sql: Sql, some: Change[], connected: (change: Change) => boolean) {
    const groups = Map.groupBy(
      some,
      (change) => `${connected(change)}\n${change.of.tenantId}\n${change.of.applicationName}`,
    )
    for (const group of groups.values())
      for (const part of inParts(group)) {
        const { of, at } = part.at(-1)!
        await bus.publish(sql, connected(part[0]!) ? EndpointsConnected : EndpointsDisconnected, {
          tenantId: of.tenantId,
          applicationName: of.applicationName,
          endpointIds: part.map((change) => change.of.endpointId),
          at: at.toISOString(),
          nodeId,
        })
      }
  }

  async function sweep() {
    for (;;) {
      const left = await store.findLeftBehind(db.sql, silentSeconds, atOnce)
      if (left.length === 0) break
      const at = now()
      const those = left.map(
        ({ nodeId: _, ...of }): Change => ({
          of: { ...of, token: '' },
          sessionKey: undefined,
          connected: false,
          blinked: false,
          at,
        }),
      )
      await db.tx((sql) => publish(sql, those, () => false))
      await register.setConnectivity(left.map(({ endpointId }) => ({ endpointId, connected: false, at })))
      for (const [node, rows] of Map.groupBy(left, (row) => row.nodeId!))
        await db.tx((sql) =>
          store.endBindings(
            sql,
            node,
            rows.map(({ endpointId }) => endpointId),
          ),
        )
    }
    await store.deleteSilentNodes(db.sql, silentSeconds * 6)
  }

  const beat = () =>
    store.saveNode(db.sql, nodeId).then(
      () => {},
      (error) => log.warn({ err: error }, 'the database did not hear that this process lives'),
    )

  return {
    bound: (presence) => note(presence, presence.connection!, true),
    unbound: (presence, connection) => note(presence, connection, false),
    again(presences) {
      for (const presence of presences) if (presence.connection) note(presence, presence.connection, true)
    },
    sweep,
    async start() {
      await beat()
      await sweep()
      beating = setInterval(() => void beat(), beatMs)
      beating.unref()
    },
    async stop() {
      clearInterval(beating)
      // Twice: what came while the first was being told. What cannot be told now is found by its rows at the next start.
      await flush()
      await flush()
      clearTimeout(timer)
      await store.deleteNode(db.sql, nodeId)
    },
  }
}

function* inParts(changes: Change[]): Generator<Change[]> {
  let part: Change[] = []
  let bytes = 0
  for (const change of changes) {
    bytes += Buffer.byteLength(change.of.endpointId) + 3
    if (part.length === endpointsInEvent || (part.length > 0 && bytes > bytesInEvent)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(change)
  }
  if (part.length > 0) yield part
}

const isBlink = ({ blinked }: Change) => blinked
const idsOf = (changes: Change[]) => changes.map(({ of }) => of.endpointId)
