/**
 * Writes and reports a batch of connects and disconnects: rows and events in one transaction, then the register, then the extensions
 * that follow connectivity. A row is there before anybody learns of the connection and goes only after its end was reported: what a
 * dead node leaves behind is found by its rows.
 */
import { inParts } from '../kernel/bus.ts'
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { ConnectivityChange, Extension } from '../kernel/device.ts'
import type { Register } from '../services/register/contract.ts'
import type { Bindings } from './bindings.ts'
import { type Change, idsOf, isConnected, lastOf, stepsMax } from './connectivity-changes.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'
import { EndpointsMoved } from './signals.ts'
import * as store from './store/bindings.ts'

export interface ReportDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'signals' | 'members' | 'now' | 'log' | 'secrets'>
  register: Pick<Register, 'setConnectivity'>
  extensions: () => ReadonlyMap<string, Extension>
  bindings: () => Pick<Bindings, 'numbered' | 'lost'>
  /** Work of extensions under way. */
  informing: Set<Promise<void>>
  isStopping(): boolean
}

interface Numbered {
  change: Change
  /** Greater than that of everything that happened to the endpoint before, on whichever node. */
  number: number
}

const sweptAtOnce = 250
const againMs = [200, 1000, 5000]

export async function report(deps: ReportDeps, some: Change[]) {
  const { db, members } = deps.kit
  const { nodeId } = members
  const went = some.filter((change) => !isConnected(lastOf(change)))
  const { bound, told } = await db.tx(async (sql) => {
    const bound = await bind(deps, sql, some)
    // Where another node has the endpoint by now, the end of its connection here is no end.
    const endings = went.length > 0 ? await store.numberEndings(sql, nodeId, idsOf(went)) : new Map<string, number>()
    const told = some.flatMap((change): Numbered[] => {
      const { endpointId } = change.of
      const number = isConnected(lastOf(change)) ? bound.get(endpointId)?.number : endings.get(endpointId)
      return number === undefined ? [] : [{ change, number }]
    })
    await publish(deps, sql, told, nodeId)
    return { bound, told }
  })
  const refused = some.filter(({ presence, visit, of }) => presence?.connection && !visit && !bound.has(of.endpointId))
  for (const { presence, of } of some) if (presence) number(deps, presence, bound.get(of.endpointId))
  if (refused.length > 0) await yieldTo(deps, refused)
  await pass(deps, told)
  if (went.length > 0) await db.tx((sql) => store.endBindings(sql, nodeId, idsOf(went)))
}

const number = ({ bindings }: ReportDeps, presence: NonNullable<Change['presence']>, bound: store.Bound | undefined) =>
  bound && bindings().numbered(presence, bound.number)

/** Binds those that connected, and tells the nodes that had them. */
async function bind({ kit }: ReportDeps, sql: Sql, some: Change[]): Promise<Map<string, store.Bound>> {
  const { nodeId } = kit.members
  const came = some.filter(({ steps }) => steps.some(isConnected))
  const [visits, visible] = [came.filter(({ visit }) => visit), came.filter(({ visit }) => !visit)]
  const rows = (changes: Change[]) => changes.map((change) => rowOf(kit, change))
  const bound = [
    ...(visible.length > 0 ? await store.saveBindings(sql, rows(visible)) : []),
    ...(visits.length > 0 ? await store.saveBindings(sql, rows(visits), { ifFree: true }) : []),
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

const rowOf = ({ members, secrets }: ReportDeps['kit'], { of, presence, sessionKey }: Change): store.NewBinding => ({
  endpointId: of.endpointId,
  tenantId: of.tenantId,
  applicationName: of.applicationName,
  versionName: of.versionName,
  nodeId: members.nodeId,
  sessionKey: sessionKey ?? null,
  tokenSealed: sessionKey === undefined ? null : secrets.seal(of.token),
  claim: presence?.claim ?? 0,
  follows: presence?.follows ?? 0,
})

/** A later CONNECT has these endpoints on another node, and this node did not know. Their next message here takes them back. */
async function yieldTo({ kit, bindings }: ReportDeps, refused: Change[]) {
  const numbers = await store.findNumbers(kit.db.sql, idsOf(refused))
  for (const { presence, of } of refused) bindings().lost(presence!, numbers.get(of.endpointId) ?? 0)
}

async function publish({ kit }: ReportDeps, sql: Sql, told: Numbered[], nodeId: string) {
  const all = told.map(({ change }) => change)
  for (let n = 0; n < stepsMax && all.some(({ steps }) => n < steps.length); n++) {
    const groups = Map.groupBy(
      all.filter(({ steps }) => n < steps.length),
      ({ of, steps }) => `${isConnected(steps[n]!)}\n${of.tenantId}\n${of.applicationName}`,
    )
    for (const group of groups.values())
      for (const part of inParts(group, ({ of }) => of.endpointId)) {
        const { of, steps } = part.at(-1)!
        await kit.bus.publish(sql, isConnected(steps[n]!) ? EndpointsConnected : EndpointsDisconnected, {
          tenantId: of.tenantId,
          applicationName: of.applicationName,
          endpointIds: idsOf(part),
          at: steps[n]!.at.toISOString(),
          nodeId,
        })
      }
  }
}

/** The register gets the present state, extensions get every step. */
async function pass(deps: ReportDeps, told: Numbered[]) {
  if (told.length === 0) return
  await deps.register.setConnectivity(
    told.map(({ change, number }) => ({ endpointId: change.of.endpointId, number, ...lastOf(change) })),
  )
  const all = told.flatMap(({ change: { of, steps } }) => {
    const { token: _, ...endpoint } = of
    return steps.map((step) => ({ endpoint, ...step }))
  })
  for (const extension of deps.extensions().values()) {
    if (!extension.connectivityChanged) continue
    const working = inform(deps, extension, all).finally(() => deps.informing.delete(working))
    deps.informing.add(working)
  }
}

/** Runs beside the rest: an extension that fails must not delay the others. */
async function inform({ kit, isStopping }: ReportDeps, extension: Extension, changes: ConnectivityChange[]) {
  const about = { extension: extension.name, changes: changes.length }
  for (const pauseMs of [...againMs, undefined])
    try {
      return await extension.connectivityChanged!(changes)
    } catch (error) {
      if (pauseMs === undefined || isStopping())
        return kit.log.error({ err: error, ...about }, 'reporting connectivity to an extension failed; giving up')
      kit.log.warn({ err: error, ...about }, 'reporting connectivity to an extension failed; retrying')
      await sleep(pauseMs)
    }
}

/** Reports the endpoints of a dead node as disconnected. */
export async function sweepNode(deps: ReportDeps, nodeId: string) {
  const { db, now } = deps.kit
  for (;;) {
    const left = await store.findBindingsOfNode(db.sql, nodeId, sweptAtOnce)
    if (left.length === 0) return
    const steps = [{ connected: false, at: now() }]
    const told = await db.tx(async (sql) => {
      const endpointIds = left.map(({ endpointId }) => endpointId)
      const endings = await store.numberEndings(sql, nodeId, endpointIds)
      const told = left.flatMap(({ endpointId, tenantId, applicationName, versionName }): Numbered[] => {
        const number = endings.get(endpointId)
        const of = { endpointId, tenantId, applicationName, versionName, token: '' }
        const change = { of, presence: undefined, sessionKey: undefined, steps, visit: false }
        return number === undefined ? [] : [{ change, number }]
      })
      await publish(deps, sql, told, nodeId)
      return told
    })
    await pass(deps, told)
    const swept = told.map(({ change }) => change.of.endpointId)
    await db.tx((sql) => store.endBindings(sql, nodeId, swept))
  }
}
