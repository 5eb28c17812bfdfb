/**
 * Pushes targets to connected endpoints. Each node pushes to its own connections. If a node dies, no work needs to be taken over, because
 * its endpoints reconnect and then get their target. An offer is committed before it is sent, and withdrawn if no device got it.
 */

import { splitForEvents } from '../../../kernel/bus.ts'
import type { Sql } from '../../../kernel/db.ts'
import { configurationPush } from '../../../kernel/device-configuration.ts'
import { defineSignal } from '../../../kernel/signals.ts'
import { SoftwareOffered } from '../events.ts'
import { signedLink } from '../links.ts'
import { type PlannedVersion, targetOf, whyNoTarget } from '../plan.ts'
import * as store from '../store/endpoints.ts'
import { type ApplicationKey, findVersion, type VersionRow } from '../store/versions.ts'
import type { Background } from './background.ts'
import type { Deps } from './deps.ts'
import type { SoftwareMetrics } from './metrics.ts'

export const extensionName = 'cmx_ota'

export interface Pushes {
  /** Pushes to all endpoints of the application that are connected to this node and have a new target. */
  toApplication(application: ApplicationKey): void
  /** Pushes to these endpoints, wherever they are connected, after the commit of `sql`. */
  toEndpoints(sql: Sql, application: ApplicationKey, endpointIds: string[]): Promise<void>
  /** Pushes to an endpoint that has just connected, even if its target was offered before. */
  onConnect(application: ApplicationKey, endpointId: string): Promise<void>
  /** Pushes to an endpoint of this node that has just sent a report. */
  afterReport(application: ApplicationKey, endpointId: string): void
  /** Returns the configuration for a device: the specification, with a link if the version has a file. */
  configurationOf(row: VersionRow): { configId: string; config: unknown }
  /** Records offers in a transaction. Returns the endpoints that did not have this offer before. */
  record(sql: Sql, application: ApplicationKey, offers: store.Offer[], at: Date): Promise<string[]>
}

/** Informs a node that the targets of endpoints that are connected to it may have changed. */
const TargetsChanged = defineSignal<ApplicationKey & { endpointIds: string[] }>('software.targets-changed')

const batchMax = 500

interface PushDeps extends Deps {
  background: Background
  metrics: SoftwareMetrics
  /** The last push of each connection, so that a device that reports while it connects gets its target only once. */
  claims: WeakMap<object, Claim>
}

export function createPushes(given: Omit<PushDeps, 'claims'>): Pushes {
  const deps: PushDeps = { ...given, claims: new WeakMap() }
  const { kit, gateway, plans, background } = deps
  const { db, signals, bus } = kit

  const pushHere = (application: ApplicationKey, endpointIds: string[], isRepeatedPush = false) =>
    push(deps, pushes, application, endpointIds, isRepeatedPush)

  async function pushToAllOfApplication({ tenantId, applicationName }: ApplicationKey) {
    const application = { tenantId, applicationName }
    if (!(await plans.latest(application))) return
    const endpointIds: string[] = []
    for (const endpoint of gateway.connectedHere())
      if (endpoint.tenantId === tenantId && endpoint.applicationName === applicationName)
        endpointIds.push(endpoint.endpointId)
    for (let begin = 0; begin < endpointIds.length; begin += batchMax)
      await pushHere(application, endpointIds.slice(begin, begin + batchMax))
  }

  signals.on(TargetsChanged, ({ endpointIds, ...application }) =>
    background.run(() => pushHere(application, endpointIds.filter(gateway.isConnected))),
  )
  const keyOf = ({ tenantId, applicationName }: ApplicationKey) => `${tenantId}\n${applicationName}`
  const toApplication = (application: ApplicationKey) =>
    background.once(keyOf(application), () => pushToAllOfApplication(application))
  bus.onReset(() => {
    const applications = new Map<string, ApplicationKey>()
    for (const endpoint of gateway.connectedHere()) applications.set(keyOf(endpoint), endpoint)
    for (const application of applications.values()) toApplication(application)
  })

  const pushes: Pushes = {
    toApplication,
    async toEndpoints(sql, application, endpointIds) {
      const here = endpointIds.filter(gateway.isConnected)
      if (here.length > 0) db.afterCommit(sql, () => background.run(() => pushHere(application, here)))
      const nodes = await gateway.nodesOf(sql, endpointIds)
      const byNode = Map.groupBy(nodes.keys(), (endpointId) => nodes.get(endpointId)!)
      const messages = [...byNode].map(([nodeId, ids]) => ({
        to: `node/${nodeId}` as const,
        payload: { tenantId: application.tenantId, applicationName: application.applicationName, endpointIds: ids },
      }))
      if (messages.length > 0) await signals.sendEach(sql, TargetsChanged, messages)
    },
    async onConnect(application, endpointId) {
      // Most applications have no software; for them a connect costs no query.
      if (await plans.latest(application)) await pushHere(application, [endpointId], true)
    },
    afterReport: (application, endpointId) => background.run(() => pushHere(application, [endpointId])),
    configurationOf: (row) => ({ configId: row.version, config: configOf(deps, row) }),
    record: (sql, application, offers, at) => record(deps, sql, application, offers, at),
  }
  return pushes
}

function configOf({ kit }: Deps, { specification, fileId, applicationName, version }: VersionRow): unknown {
  const config: unknown = specification === null ? {} : JSON.parse(specification)
  if (fileId === null || typeof config !== 'object' || config === null || Array.isArray(config)) return config
  const expires = Math.floor(kit.now().getTime() / 1000) + kit.settings.linkSeconds
  const link = signedLink(kit.secrets, kit.baseUrl(), { applicationName, version, fileId }, expires)
  return { ...config, link }
}

async function record({ kit: { bus } }: Deps, sql: Sql, application: ApplicationKey, offers: store.Offer[], at: Date) {
  const fresh = new Set(await store.insertOffers(sql, application, offers, at))
  const byVersion = Map.groupBy(
    offers.filter(({ endpointId }) => fresh.has(endpointId)),
    ({ version }) => version,
  )
  const { tenantId, applicationName } = application
  const common = { tenantId, applicationName, offeredDate: at.toISOString() }
  if (bus.hasSubscribers(SoftwareOffered))
    for (const [version, offered] of byVersion)
      for (const endpointIds of splitForEvents(offered.map(({ endpointId }) => endpointId)))
        await bus.publish(sql, SoftwareOffered, { ...common, version, endpointIds })
  return [...fresh]
}

/** Reads the states of endpoints. For rows that were just created, also reads which filters they match. */
async function statesOf({ kit, memberships }: PushDeps, application: ApplicationKey, endpointIds: string[]) {
  const states = await store.findStates(kit.db.sql, application, endpointIds)
  const unknown = states.filter(({ matched }) => !matched).map(({ endpointId }) => endpointId)
  if (unknown.length === 0) return states
  await kit.db.tx((sql) => memberships.refresh(sql, application, unknown))
  return await store.findStates(kit.db.sql, application, endpointIds)
}

/** Decides which endpoints get an offer, records the offers and sends them. With `isRepeatedPush`, also sends offers that are recorded already. */
async function push(
  deps: PushDeps,
  pushes: Pushes,
  application: ApplicationKey,
  endpointIds: string[],
  isRepeatedPush: boolean,
) {
  if (endpointIds.length === 0) return
  const { kit, plans, metrics } = deps
  const states = await statesOf(deps, application, endpointIds)
  if (states.length === 0) return
  const plan = await plans.at(application, states[0]!.revision)
  const now = kit.now().getTime()
  const offers = new Map<string, store.Offer>()
  const neededVersions = new Set<PlannedVersion>()
  for (const state of states) {
    const matches = { mask: state.filterMask, more: state.moreFilters }
    const target = targetOf(plan, state.current, matches, now)
    const refusal = target
      ? reasonNotToPush(state, target, isRepeatedPush)
      : whyNoTarget(plan, state.current, matches, now)
    if (!target || refusal) {
      metrics.notOffered(refusal!, state.endpointId)
      continue
    }
    neededVersions.add(target)
    offers.set(state.endpointId, { endpointId: state.endpointId, number: target.number, version: target.version })
  }
  if (offers.size > 0)
    await send(deps, pushes, application, { offers, wanted: neededVersions, isRepeatedPush, at: new Date(now) })
}

/** Returns the reason why the target is not pushed to the endpoint now, or undefined if it is pushed. */
function reasonNotToPush(state: store.EndpointState, target: PlannedVersion, isRepeatedPush: boolean) {
  if (isRepeatedPush) return undefined
  if (state.offered === target.number) return 'already_offered'
  const failedSinceResume = (state.reportedDate?.getTime() ?? 0) >= (target.resumedAt ?? Number.NEGATIVE_INFINITY)
  return state.failed === target.number && failedSinceResume ? 'already_failed' : undefined
}

/** A push of a version to one connection, in progress or done. */
interface Claim {
  offer: store.Offer
  connection: object | undefined
}

async function send(
  deps: PushDeps,
  pushes: Pushes,
  application: ApplicationKey,
  options: { offers: Map<string, store.Offer>; wanted: Set<PlannedVersion>; isRepeatedPush: boolean; at: Date },
) {
  const { kit, gateway, metrics, claims } = deps
  const { offers, isRepeatedPush, at } = options
  const rows = new Map<number, VersionRow>()
  for (const { version } of options.wanted) {
    const row = await findVersion(kit.db.sql, { ...application, version })
    if (row) rows.set(row.number, row)
  }
  const claimed = [...offers.values()]
    .filter(({ number }) => rows.has(number))
    .flatMap((offer) => claim(deps, offer, isRepeatedPush) ?? [])
  if (claimed.length === 0) return
  const known = claimed.map(({ offer }) => offer)
  const recorded = new Set(await kit.db.tx((sql) => pushes.record(sql, application, known, at)))
  const failed: store.Offer[] = []
  await Promise.all(
    claimed.map(async (one) => {
      const { offer, connection } = one
      const isClaimed = connection === undefined || claims.get(connection) === one
      if (!recorded.has(offer.endpointId) && !(isRepeatedPush && isClaimed)) return release(deps, one)
      const configuration = pushes.configurationOf(rows.get(offer.number)!)
      const outcome = await gateway.sendHere(offer.endpointId, configurationPush(extensionName, configuration))
      if (outcome === 'sent') return metrics.offered('push')
      release(deps, one)
      metrics.notOffered(outcome, offer.endpointId)
      if (recorded.has(offer.endpointId)) failed.push(offer)
    }),
  )
  if (failed.length > 0) await store.deleteOffers(kit.db.sql, application, failed, at)
}

/** Claims the push of an offer. Returns undefined if the connection already gets the version and this push would only repeat it. */
function claim({ gateway, claims, metrics }: PushDeps, offer: store.Offer, isRepeatedPush: boolean): Claim | undefined {
  const connection = gateway.connectionOf(offer.endpointId)
  const claimed = { offer, connection }
  if (!connection) return claimed
  if (isRepeatedPush && claims.get(connection)?.offer.number === offer.number)
    return void metrics.notOffered('already_offered', offer.endpointId)
  claims.set(connection, claimed)
  return claimed
}

function release({ claims }: PushDeps, claimed: Claim) {
  const { connection } = claimed
  if (connection && claims.get(connection) === claimed) claims.delete(connection)
}
