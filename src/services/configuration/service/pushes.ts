/**
 * Pushes configurations to connected endpoints. When the write of a configuration commits, the nodes that may have the connections get a
 * signal. Each node then reads the effective configurations and sends them to its own connections. If a push is missed, the endpoint gets
 * the configuration when it connects again.
 */
import type { Gateway } from '../../../gateway/contract.ts'
import { createBatcher } from '../../../kernel/batcher.ts'
import { sleep } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { configurationPush } from '../../../kernel/device-configuration.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import { createPace, type Pace } from '../../../kernel/pace.ts'
import { defineSignal } from '../../../kernel/signals.ts'
import type { Register } from '../../register/contract.ts'
import { pushingFailed } from '../log-messages.ts'
import * as store from '../store/deliveries.ts'
import type { Contents } from './contents.ts'

export const extensionName = 'cmx'

/**
 * A changed configuration of one endpoint. Without a name, all its configurations may have changed, because the endpoint was moved to
 * another version.
 */
interface EndpointChange extends store.DeviceRef {
  name?: string
}

const EndpointChanged = defineSignal<EndpointChange>('configuration.endpoint-changed')
const PageWritten = defineSignal<WrittenPage>('configuration.page-written')
const BatchWritten = defineSignal<{ tenantId: string; configId: string }>('configuration.batch-written')
const DefaultWritten = defineSignal<{ tenantId: string; versionName: string }>('configuration.default-written')

/** Endpoints on a page of a bulk task that got a configuration. */
interface WrittenPage {
  tenantId: string
  versionName: string
  name: string
  endpointIds: string[]
}

export interface Pushes {
  /** Pushes the effective configurations to the endpoint, with the commit of `sql`. */
  endpointChanged(sql: Sql, change: EndpointChange): Promise<void>
  batchWritten(sql: Sql, batch: { tenantId: string; configId: string }): Promise<void>
  /** Pushes the effective configurations to the given endpoints, with the commit of `sql`. Endpoints that are not connected get no push. */
  pageWritten(sql: Sql, page: WrittenPage): Promise<void>
  defaultWritten(sql: Sql, written: { tenantId: string; versionName: string }): Promise<void>
  /** Pushes the configurations that an endpoint has not applied. Called after it has connected to this node. */
  onConnect(endpoint: store.DeviceRef): Promise<void>
  /** Remembers that a configuration was pushed to the endpoint's connection to this node. */
  handedOver(endpointId: string, name: string, configId: string): void
  /** Pushes the effective configurations again, on this node. */
  pushAgain(change: EndpointChange): void
  /** Resolves when no push is in progress. */
  settled(): Promise<void>
}

interface Deps {
  kit: Pick<Kit, 'db' | 'signals' | 'log' | 'stopping'>
  gateway: Pick<
    Gateway,
    'sendHere' | 'isConnected' | 'connectedEndpoint' | 'connectedHere' | 'connectionOf' | 'nodesOf'
  >
  register: Pick<Register, 'find'>
  contents: Contents
}

interface Parts extends Deps {
  /** Runs all pushes of an endpoint one after the other. */
  ordered: ReturnType<typeof createKeyedMutex>['run']
  running: Set<Promise<void>>
  outdated(endpoint: store.DeviceRef): Promise<store.EffectiveRow[] | undefined>
  /**
   * The last configuration that was pushed, by connection and name. If the configuration or version of a device changes while it connects,
   * the device therefore gets the same configuration only once.
   */
  pushed: WeakMap<object, Map<string, string>>
}

/** Time after which the connection of an unconnected endpoint is looked up again, because it may have been opened during the write. */
const recheckMs = 1000
const attemptsMax = 5
const endpointsPerPage = 500
const concurrentPushes = 25
/**
 * Pause after each four milliseconds of pushes. Without it, a push to many devices, and the database writes that record the deliveries,
 * would take the processor time of other requests. With it, ten thousand devices get a configuration up to a second later.
 */
const pauseMs = 6
const lookupsPerStatement = 500

const createPushPace = () => createPace(undefined, pauseMs)

export function createPushes(deps: Deps): Pushes {
  const { kit, gateway } = deps
  const { signals } = kit
  const outdated = createBatcher<store.DeviceRef, store.EffectiveRow[]>(async (endpoints) => {
    const rows = Map.groupBy(await store.findOutdated(kit.db.sql, endpoints), ({ position }) => position)
    return endpoints.map((_, position) => rows.get(position) ?? [])
  }, lookupsPerStatement)
  const ordered = createKeyedMutex().run
  const parts: Parts = { ...deps, ordered, running: new Set(), outdated, pushed: new WeakMap() }
  const pushChange = (change: EndpointChange) => start(parts, () => pushToEndpoint(parts, change))
  signals.on(EndpointChanged, pushChange)
  signals.on(PageWritten, (page) => start(parts, () => pushPage(parts, page)))
  signals.on(BatchWritten, (batch) => start(parts, () => pushBatch(parts, batch)))
  signals.on(DefaultWritten, (written) =>
    start(parts, () => pushUndispatched(parts, (one) => one.versionName === written.versionName)),
  )
  // After a reset, signals of any write may have been lost.
  signals.onReset(() => start(parts, () => pushUndispatched(parts, () => true)))
  return {
    async endpointChanged(sql, change) {
      const { endpointId } = change
      if (gateway.isConnected(endpointId)) return kit.db.afterCommit(sql, () => pushChange(change))
      const node = (await gateway.nodesOf(sql, [endpointId])).get(endpointId)
      if (node !== undefined) return signals.send(sql, `node/${node}`, EndpointChanged, change)
      kit.db.afterCommit(sql, () => start(parts, () => pushIfConnectedLater(parts, change)))
    },
    pageWritten: (sql, page) => signals.send(sql, 'all', PageWritten, page),
    batchWritten: (sql, batch) => signals.send(sql, 'all', BatchWritten, batch),
    defaultWritten: (sql, written) => signals.send(sql, 'all', DefaultWritten, written),
    onConnect: (endpoint) =>
      ordered(endpoint.endpointId, async () => {
        for (const row of (await outdated(endpoint)) ?? []) await send(parts, endpoint, row)
      }),
    handedOver: (endpointId, name, configId) => remember(parts, endpointId, name, configId),
    pushAgain: pushChange,
    async settled() {
      while (parts.running.size > 0) await Promise.all(parts.running)
    },
  }
}

/** Runs work in the background. If the database fails, the work is retried. */
function start({ kit: { log, stopping }, running }: Parts, work: () => Promise<void>) {
  const run = (async () => {
    for (let attempt = 1; !stopping.aborted; attempt++) {
      try {
        return await work()
      } catch (error) {
        pushingFailed(log, { err: error, attempt })
        if (attempt === attemptsMax) return
        await sleep(attempt * 500)
      }
    }
  })().finally(() => running.delete(run))
  running.add(run)
}

/** Pushes to an endpoint that had no connection when the configuration was written, if it has a connection a second later. */
async function pushIfConnectedLater(parts: Parts, change: EndpointChange) {
  const { kit, gateway } = parts
  const { endpointId, name } = change
  kit.log.debug({ endpointId, name, reason: 'not_connected' }, 'configuration not pushed')
  await sleep(recheckMs)
  if (kit.stopping.aborted) return
  const wait = await store.findUndispatched(kit.db.sql, [change])
  if (!wait.some((row) => name === undefined || row.name === name)) return
  if (gateway.isConnected(endpointId)) return pushToEndpoint(parts, change)
  const node = (await gateway.nodesOf(kit.db.sql, [endpointId])).get(endpointId)
  if (node !== undefined) await kit.signals.sendNow(`node/${node}`, EndpointChanged, change)
}

/** Pushes to one endpoint. The mutex keeps the order, so that the last push contains the configuration that became effective last. */
const pushToEndpoint = (parts: Parts, { name, endpointId }: EndpointChange) =>
  parts.ordered(endpointId, async () => {
    const { sql } = parts.kit.db
    // The endpoint may have moved to another version since the change.
    const endpoint = await parts.register.find(endpointId)
    if (!endpoint) return
    const rows =
      name === undefined
        ? await findAfterMove(parts, endpoint)
        : (await store.findEffectiveIds(sql, [endpoint])).filter((row) => row.name === name)
    if (rows.length === 0)
      parts.kit.log.debug({ endpointId, name, reason: 'none_effective' }, 'configuration not pushed')
    for (const row of rows) await send(parts, endpoint, row)
  })

/**
 * Finds the configurations that an endpoint may lack after a move to another version. These include configurations that it has applied
 * before, if this connection has pushed a configuration with the same name since: the device may now have the configuration of another
 * version.
 */
async function findAfterMove(parts: Parts, endpoint: store.DeviceRef): Promise<store.EffectiveRow[]> {
  const outdated = (await parts.outdated(endpoint)) ?? []
  const connection = parts.gateway.connectionOf(endpoint.endpointId)
  const last = connection && parts.pushed.get(connection)
  if (!last) return outdated
  const names = new Set(outdated.map(({ name }) => name))
  const effective = await store.findEffectiveIds(parts.kit.db.sql, [endpoint])
  return effective.filter(({ name }) => names.has(name) || last.has(name))
}

async function pushPage(parts: Parts, { tenantId, versionName, name, endpointIds }: WrittenPage) {
  const here = endpointIds.filter((endpointId) => parts.gateway.isConnected(endpointId))
  await inTurn(here, createPushPace(), (endpointId) =>
    pushToEndpoint(parts, { tenantId, versionName, name, endpointId }),
  )
}

async function pushBatch(parts: Parts, { tenantId, configId }: { tenantId: string; configId: string }) {
  const { kit, gateway } = parts
  if (!hasConnections(parts, tenantId)) return
  const pace = createPushPace()
  for (let after = ''; !kit.stopping.aborted; ) {
    const rows = await store.findUndispatchedOf(kit.db.sql, { tenantId, configId, after, limit: endpointsPerPage })
    // A batch may name a version other than the current version of the endpoint.
    const connectedRows = rows.filter(
      ({ endpointId, versionName }) => gateway.connectedEndpoint(endpointId)?.versionName === versionName,
    )
    await inTurn(connectedRows, pace, (row) => sendInOrder(parts, { tenantId, ...row }, { name: row.name, configId }))
    if (rows.length < endpointsPerPage) return
    after = rows.at(-1)!.endpointId
  }
}

function hasConnections({ gateway }: Parts, tenantId: string): boolean {
  for (const endpoint of gateway.connectedHere()) if (endpoint.tenantId === tenantId) return true
  return false
}

/** Pushes configurations that were never delivered to the endpoints that are connected to this node. */
async function pushUndispatched(parts: Parts, isWanted: (endpoint: store.DeviceRef) => boolean) {
  const { kit, gateway } = parts
  const endpoints = [...gateway.connectedHere()].filter(isWanted)
  const pace = createPushPace()
  for (let at = 0; at < endpoints.length && !kit.stopping.aborted; at += endpointsPerPage) {
    const some = endpoints.slice(at, at + endpointsPerPage)
    const rows = await store.findUndispatched(kit.db.sql, some)
    await inTurn(rows, pace, (row) => sendInOrder(parts, some[row.position]!, row))
  }
}

/**
 * Runs the work for a few items at a time, with pauses in between, so that other requests and devices do not wait for thousands of pushes.
 */
async function inTurn<T>(items: T[], pace: Pace, work: (item: T) => Promise<void>) {
  for (let at = 0; at < items.length; at += concurrentPushes) {
    await Promise.all(items.slice(at, at + concurrentPushes).map(work))
    await pace()
  }
}

function remember({ gateway, pushed }: Parts, endpointId: string, name: string, configId: string) {
  const connection = gateway.connectionOf(endpointId)
  if (!connection) return
  const known = pushed.get(connection)
  if (known) known.set(name, configId)
  else pushed.set(connection, new Map([[name, configId]]))
}

interface Sent {
  name: string
  configId: string
}

const sendInOrder = (parts: Parts, endpoint: store.DeviceRef, configuration: Sent) =>
  parts.ordered(endpoint.endpointId, () => send(parts, endpoint, configuration))

/**
 * Sends a configuration, unless the last push on this connection had the same configuration. Calls for one endpoint must run one after the
 * other.
 */
async function send(
  { gateway, contents, pushed }: Parts,
  { tenantId, endpointId }: store.DeviceRef,
  { name, configId }: Sent,
) {
  const connection = gateway.connectionOf(endpointId)
  if (connection && pushed.get(connection)?.get(name) === configId) return
  const content = await contents.find(tenantId, configId)
  // The content of a replaced configuration may have been deleted meanwhile. The write that replaced it causes another push.
  if (content)
    await gateway.sendHere(endpointId, configurationPush(extensionName, { name, configId, config: content.value }))
}
