/**
 * Who has a connection, told to everybody else: rows of ours, events, the register's metadata and whoever watches, by the batch.
 * What happened to an endpoint within a batch is told step by step. A row is there before anybody hears `connected` and goes only
 * after `disconnected` was told: what a process that died leaves behind is found by its rows.
 */
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { ConnectivityChange, Extension } from '../kernel/device.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'
import type { Device, Presence } from './peers.ts'
import * as store from './store/bindings.ts'

export interface Connectivity {
  bound(presence: Presence): void
  unbound(presence: Presence, connection: Device): void
  /** It came and went: by the time at which it was known who it is, its connection had gone. */
  visited(presence: Presence, connection: Device): void
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
  /** One way and the other by turns; the last is what is so now. */
  steps: Step[]
  /** It was never bound, its last words came after its connection had gone: nobody has to make way for it. */
  visit: boolean
}

interface Step {
  connected: boolean
  at: Date
}

const flushMs = 50
/** Of an endpoint in a batch: of one that comes and goes more often, the first and the last are told. */
const stepsMax = 8
const atOnce = 250
/** With ids of the greatest length it is still one message between processes. */
const endpointsInEvent = 100
const bytesInEvent = 6000
const beatMs = 1500
const againMs = [200, 1000, 5000]
/** A process that has not been heard of for so long is dead. */
const silentSeconds = 5

export function createConnectivity(
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log' | 'secrets'> & { nodeId: string },
  deps: { register: Pick<Register, 'setConnectivity'>; extensions: () => ReadonlyMap<string, Extension> },
): Connectivity {
  const { db, bus, now, log, secrets, nodeId } = kit
  let changes = new Map<string, Change>()
  let flushing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let beating: NodeJS.Timeout | undefined
  const informing = new Set<Promise<void>>()
  let stopping = false

  function note(presence: Presence, connection: Device, connected: boolean, visit = false) {
    const { endpointId, applicationName, versionName, token, tenant } = presence
    const before = changes.get(endpointId)
    const { client, sessionKey } = connection
    changes.set(endpointId, {
      of: { endpointId, applicationName, versionName, token, tenantId: tenant.tenantId },
      sessionKey: client.sessionExpirySeconds > 0 ? sessionKey : undefined,
      steps: stepped(before?.steps ?? [], { connected, at: connected ? new Date(presence.boundAt) : now() }),
      visit: visit && (before?.visit ?? true),
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
        // What was noted since comes behind it.
        for (const change of all.slice(from)) {
          const since = changes.get(change.of.endpointId)
          const steps = since?.steps.reduce(stepped, change.steps) ?? change.steps
          changes.set(change.of.endpointId, {
            ...(since ?? change),
            steps,
            visit: change.visit && (since?.visit ?? true),
          })
        }
        return
      }
    }
  }

  async function tell(some: Change[]) {
    const came = some.filter(({ steps }) => steps.some(isConnected))
    const went = some.filter((change) => !isConnected(lastOf(change)))
    const told = await db.tx(async (sql) => {
      const [visits, bound] = [came.filter(({ visit }) => visit), came.filter(({ visit }) => !visit)]
      if (bound.length > 0) await store.saveBindings(sql, bound.map(rowOf))
      if (visits.length > 0) await store.saveBindings(sql, visits.map(rowOf), { ifFree: true })
      // Those that another process has taken over meanwhile are its to tell of.
      const ours = went.length > 0 ? await store.findBoundHere(sql, nodeId, idsOf(went)) : new Set()
      const mine = some.filter((change) => isConnected(lastOf(change)) || ours.has(change.of.endpointId))
      for (let n = 0; n < stepsMax && mine.some(({ steps }) => n < steps.length); n++) await publish(sql, mine, n)
      return mine
    })
    await pass(told)
    if (went.length > 0) await db.tx((sql) => store.endBindings(sql, nodeId, idsOf(went)))
  }

  /** To the register what is so now, to whoever watches all that happened. */
  async function pass(told: Change[]) {
    if (told.length === 0) return
    await deps.register.setConnectivity(told.map((change) => ({ endpointId: change.of.endpointId, ...lastOf(change) })))
    const all = told.flatMap(({ of: { token: _, ...endpoint }, steps }) => steps.map((step) => ({ endpoint, ...step })))
    for (const extension of deps.extensions().values()) {
      if (!extension.connectivityChanged) continue
      const working = inform(extension, all).finally(() => informing.delete(working))
      informing.add(working)
    }
  }

  /** Runs beside the rest: an extension that fails must not delay the others. */
  async function inform(extension: Extension, changes: ConnectivityChange[]) {
    const about = { extension: extension.name, changes: changes.length }
    for (const pauseMs of [...againMs, undefined])
      try {
        return await extension.connectivityChanged!(changes)
      } catch (error) {
        if (pauseMs === undefined || stopping)
          return log.error({ err: error, ...about }, 'reporting connectivity to an extension failed; giving up')
        log.warn({ err: error, ...about }, 'reporting connectivity to an extension failed; retrying')
        await sleep(pauseMs)
      }
  }

  const rowOf = ({ of, sessionKey, steps }: Change): store.BindingRow => ({
    endpointId: of.endpointId,
    tenantId: of.tenantId,
    applicationName: of.applicationName,
    versionName: of.versionName,
    nodeId,
    sessionKey: sessionKey ?? null,
    tokenSealed: sessionKey === undefined ? null : secrets.seal(of.token),
    boundAt: steps.findLast(isConnected)!.at,
  })

  /** The nth step of those that have as many. */
  async function publish(sql: Sql, some: Change[], n: number) {
    const groups = Map.groupBy(
      some.filter(({ steps }) => n < steps.length),
      ({ of, steps }) => `${isConnected(steps[n]!)}\n${of.tenantId}\n${of.applicationName}`,
    )
    for (const group of groups.values())
      for (const part of inParts(group)) {
        const { of, steps } = part.at(-1)!
        await bus.publish(sql, isConnected(steps[n]!) ? EndpointsConnected : EndpointsDisconnected, {
          tenantId: of.tenantId,
          applicationName: of.applicationName,
          endpointIds: part.map((change) => change.of.endpointId),
          at: steps[n]!.at.toISOString(),
          nodeId,
        })
      }
  }

  async function sweep() {
    for (;;) {
      const left = await store.findLeftBehind(db.sql, silentSeconds, atOnce)
      if (left.length === 0) break
      const steps = [{ connected: false, at: now() }]
      const those = left.map(
        ({ endpointId, tenantId, applicationName, versionName }): Change => ({
          of: { endpointId, tenantId, applicationName, versionName, token: '' },
          sessionKey: undefined,
          steps,
          visit: false,
        }),
      )
      await db.tx((sql) => publish(sql, those, 0))
      await pass(those)
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
    visited(presence, connection) {
      note(presence, connection, true, true)
      note(presence, connection, false, true)
    },
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
      stopping = true
      await Promise.all(informing)
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

const isConnected = ({ connected }: Step) => connected
const lastOf = ({ steps }: Change) => steps.at(-1)!

/** Each later than the one before, as far as anybody can tell: two points of a series at one moment would be one. */
function stepped(steps: Step[], { connected, at }: Step): Step[] {
  const last = steps.at(-1)
  if (!last) return [{ connected, at }]
  if (last.connected === connected) return [...steps.slice(0, -1), { connected, at }]
  const all = [...steps, { connected, at: at > last.at ? at : new Date(last.at.getTime() + 1) }]
  if (all.length > stepsMax) all.splice(1, 2)
  return all
}

const idsOf = (changes: Change[]) => changes.map(({ of }) => of.endpointId)
