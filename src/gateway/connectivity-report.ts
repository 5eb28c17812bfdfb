/**
 * Writes and reports a batch of connects and disconnects: rows and events in one transaction, then the register, then the extensions. The
 * row of a binding exists until its disconnect is reported, so that other nodes find the endpoints of a dead node.
 */
import { splitForEvents } from '../kernel/bus.ts'
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { ConnectivityChange, Extension } from '../kernel/device.ts'
import type { Register } from '../services/register/contract.ts'
import type { Bindings } from './bindings.ts'
import { type Change, endpointIdsOf, isConnected, lastStep, stepsMax } from './connectivity-changes.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'
import { extensionConnectivityFailed, extensionConnectivityRetried } from './log-messages.ts'
import { EndpointsMoved } from './signals.ts'
import * as store from './store/bindings.ts'
import { addToHistory, type HistoryAddition } from './store/connection-history.ts'

export interface ReportDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'signals' | 'members' | 'now' | 'log' | 'secrets'>
  register: Pick<Register, 'setConnectivity'>
  extensions: () => ReadonlyMap<string, Extension>
  bindings: () => Pick<Bindings, 'setNumber' | 'removeReplaced'>
  /** Calls of extensions that have not finished yet. */
  runningReports: Set<Promise<void>>
  isStopping(): boolean
}

interface Numbered {
  change: Change
  /** A number that is higher than the numbers of all earlier changes to the endpoint, on any node. */
  number: number
}

const sweepBatchMax = 250
const retryDelaysMs = [200, 1000, 5000]

export async function reportChanges(deps: ReportDeps, changes: Change[]) {
  const { db, members } = deps.kit
  const { nodeId } = members
  const disconnected = changes.filter((change) => !isConnected(lastStep(change)))
  const { bound, numbered } = await db.tx(async (sql) => {
    const bound = await bind(deps, sql, changes)
    // An endpoint that is now connected to another node is not reported as disconnected.
    const disconnectNumbers =
      disconnected.length > 0
        ? await store.numberDisconnects(sql, nodeId, endpointIdsOf(disconnected))
        : new Map<string, number>()
    const numbered = changes.flatMap((change): Numbered[] => {
      const { endpointId } = change.endpoint
      const number = isConnected(lastStep(change)) ? bound.get(endpointId)?.number : disconnectNumbers.get(endpointId)
      return number === undefined ? [] : [{ change, number }]
    })
    await publish(deps, sql, numbered, nodeId)
    await addToHistory(sql, historyOf(numbered))
    return { bound, numbered }
  })
  const replaced = changes.filter(
    ({ binding, transient, endpoint }) => binding?.connection && !transient && !bound.has(endpoint.endpointId),
  )
  for (const { binding, endpoint } of changes) if (binding) assignNumber(deps, binding, bound.get(endpoint.endpointId))
  if (replaced.length > 0) await removeReplacedBindings(deps, replaced)
  await reportToServices(deps, numbered)
  if (disconnected.length > 0) await db.tx((sql) => store.endBindings(sql, nodeId, endpointIdsOf(disconnected)))
}

const assignNumber = (
  { bindings }: ReportDeps,
  binding: NonNullable<Change['binding']>,
  bound: store.SavedBinding | undefined,
) => bound && bindings().setNumber(binding, bound.number)

/** Writes the bindings of connected endpoints, and signals the nodes on which the endpoints were bound before. */
async function bind({ kit }: ReportDeps, sql: Sql, changes: Change[]): Promise<Map<string, store.SavedBinding>> {
  const { nodeId } = kit.members
  const connected = changes.filter(({ steps }) => steps.some(isConnected))
  const [transients, lasting] = [
    connected.filter(({ transient }) => transient),
    connected.filter(({ transient }) => !transient),
  ]
  const rows = (changes: Change[]) => changes.map((change) => rowOf(kit, change))
  const bound = [
    ...(lasting.length > 0 ? await store.saveBindings(sql, rows(lasting)) : []),
    ...(transients.length > 0 ? await store.saveBindings(sql, rows(transients), { ifFree: true }) : []),
  ]
  const moved = bound.filter(({ previousNodeId: previous }) => {
    return previous !== null && previous !== nodeId && kit.members.isAlive(previous)
  })
  await kit.signals.sendEach(
    sql,
    EndpointsMoved,
    [...Map.groupBy(moved, ({ previousNodeId }) => previousNodeId!)].map(([previous, endpoints]) => ({
      to: `node/${previous}` as const,
      payload: { endpoints: endpoints.map(({ endpointId, number }) => [endpointId, number]) },
    })),
  )
  return new Map(bound.map((one) => [one.endpointId, one]))
}

const rowOf = (
  { members, secrets }: ReportDeps['kit'],
  { endpoint, binding, sessionKey }: Change,
): store.NewBinding => ({
  endpointId: endpoint.endpointId,
  tenantId: endpoint.tenantId,
  applicationName: endpoint.applicationName,
  versionName: endpoint.versionName,
  nodeId: members.nodeId,
  sessionKey: sessionKey ?? null,
  tokenSealed: sessionKey === undefined ? null : secrets.seal(endpoint.token),
  claim: binding?.claim ?? 0,
  follows: binding?.follows ?? 0,
})

/**
 * Removes the bindings of this node that a later CONNECT on another node has replaced. The endpoint's next message to this node moves the
 * endpoint back.
 */
async function removeReplacedBindings({ kit, bindings }: ReportDeps, replaced: Change[]) {
  const numbers = await store.findNumbers(kit.db.sql, endpointIdsOf(replaced))
  for (const { binding, endpoint } of replaced)
    bindings().removeReplaced(binding!, numbers.get(endpoint.endpointId) ?? 0)
}

async function publish({ kit }: ReportDeps, sql: Sql, numbered: Numbered[], nodeId: string) {
  const all = numbered.map(({ change }) => change)
  for (let n = 0; n < stepsMax && all.some(({ steps }) => n < steps.length); n++) {
    const groups = Map.groupBy(
      all.filter(({ steps }) => n < steps.length),
      ({ endpoint, steps }) => `${isConnected(steps[n]!)}\n${endpoint.tenantId}\n${endpoint.applicationName}`,
    )
    for (const group of groups.values())
      for (const part of splitForEvents(group, ({ endpoint }) => endpoint.endpointId)) {
        const { endpoint, steps } = part.at(-1)!
        await kit.bus.publish(sql, isConnected(steps[n]!) ? EndpointsConnected : EndpointsDisconnected, {
          tenantId: endpoint.tenantId,
          applicationName: endpoint.applicationName,
          endpointIds: endpointIdsOf(part),
          at: steps[n]!.at.toISOString(),
          nodeId,
        })
      }
  }
}

const historyOf = (numbered: Numbered[]): HistoryAddition[] =>
  numbered.map(({ change: { endpoint, steps } }) => ({
    endpointId: endpoint.endpointId,
    tenantId: endpoint.tenantId,
    events: steps.toReversed().map(({ connected, at, reason }) => ({ at: at.getTime(), connected, reason })),
  }))

/** Reports the present state to the register and every step to the extensions. */
async function reportToServices(deps: ReportDeps, numbered: Numbered[]) {
  if (numbered.length === 0) return
  await deps.register.setConnectivity(
    numbered.map(({ change, number }) => {
      const { connected, at } = lastStep(change)
      return { endpointId: change.endpoint.endpointId, number, connected, at }
    }),
  )
  const all = numbered.flatMap(({ change: { endpoint, steps } }) => {
    const { token: _, ...withoutToken } = endpoint
    return steps.map(({ connected, at }) => ({ endpoint: withoutToken, connected, at }))
  })
  for (const extension of deps.extensions().values()) {
    if (!extension.connectivityChanged) continue
    const running = reportToExtension(deps, extension, all).finally(() => deps.runningReports.delete(running))
    deps.runningReports.add(running)
  }
}

/**
 * Reports changes to one extension, with retries. The batch does not await the call, because an extension that fails must not delay other
 * extensions.
 */
async function reportToExtension({ kit, isStopping }: ReportDeps, extension: Extension, changes: ConnectivityChange[]) {
  const fields = { extension: extension.name, changes: changes.length }
  for (const pauseMs of [...retryDelaysMs, undefined])
    try {
      return await extension.connectivityChanged!(changes)
    } catch (error) {
      if (pauseMs === undefined || isStopping()) return extensionConnectivityFailed(kit.log, { err: error, ...fields })
      extensionConnectivityRetried(kit.log, { err: error, ...fields })
      await sleep(pauseMs)
    }
}

/** Reports the endpoints of a dead node as disconnected. */
export async function sweepNode(deps: ReportDeps, nodeId: string) {
  const { db, now } = deps.kit
  for (;;) {
    const rows = await store.findBindingsOfNode(db.sql, nodeId, sweepBatchMax)
    if (rows.length === 0) return
    const steps = [{ connected: false, at: now(), reason: 'the node of its connection died' }]
    const numbered = await db.tx(async (sql) => {
      const endpointIds = rows.map(({ endpointId }) => endpointId)
      const disconnectNumbers = await store.numberDisconnects(sql, nodeId, endpointIds)
      const numbered = rows.flatMap(({ endpointId, tenantId, applicationName, versionName }): Numbered[] => {
        const number = disconnectNumbers.get(endpointId)
        const endpoint = { endpointId, tenantId, applicationName, versionName, token: '' }
        const change = { endpoint, binding: undefined, sessionKey: undefined, steps, transient: false }
        return number === undefined ? [] : [{ change, number }]
      })
      await publish(deps, sql, numbered, nodeId)
      await addToHistory(sql, historyOf(numbered))
      return numbered
    })
    await reportToServices(deps, numbered)
    const swept = numbered.map(({ change }) => change.endpoint.endpointId)
    await db.tx((sql) => store.endBindings(sql, nodeId, swept))
  }
}
