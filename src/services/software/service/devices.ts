/** Handles requests of devices for their target, and their reports. */
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import type { DeviceConfigurations } from '../../../kernel/device-configuration.ts'
import { RolloutHalted, SoftwareReported } from '../events.ts'
import { rolloutHalted } from '../log-messages.ts'
import { type Matches, type PlannedVersion, targetOf } from '../plan.ts'
import * as store from '../store/endpoints.ts'
import { type ApplicationKey, findVersion, lockApplication, setRolloutState } from '../store/versions.ts'
import { announceChange } from './announce.ts'
import type { Deps } from './deps.ts'
import type { SoftwareMetrics } from './metrics.ts'
import type { Pushes } from './pushes.ts'

interface DeviceDeps extends Deps {
  pushes: Pushes
  metrics: SoftwareMetrics
}

export const createDeviceRules = (deps: DeviceDeps): DeviceConfigurations => ({
  current: (endpoint, name, known) => current(deps, endpoint, name, known),
  applied: (endpoint, report) => applied(deps, endpoint, report),
  /** Sends the pushes itself instead of returning them to the gateway, because an offer must be withdrawn if no device got it. */
  async outdated({ tenantId, applicationName, endpointId }) {
    await deps.pushes.onConnect({ tenantId, applicationName }, endpointId)
    return []
  },
})

const applicationOf = ({ tenantId, applicationName }: DeviceEndpoint): ApplicationKey => ({ tenantId, applicationName })

async function matchesOf(
  { kit, memberships }: Deps,
  application: ApplicationKey,
  endpointId: string,
  state: store.EndpointState | undefined,
): Promise<Matches> {
  if (!state) return await memberships.read(application, endpointId)
  if (state.matched) return { mask: state.filterMask, more: state.moreFilters }
  await kit.db.tx((sql) => memberships.refresh(sql, application, [endpointId]))
  return await memberships.read(application, endpointId)
}

/** Returns the target of an endpoint, and records that it was offered (document 5, 4.4 and 4.5). */
async function current(
  deps: DeviceDeps,
  endpoint: DeviceEndpoint,
  name: string | undefined,
  known: string | undefined,
) {
  const { kit, plans, pushes, metrics } = deps
  const { endpointId } = endpoint
  const application = applicationOf(endpoint)
  // Software has only a default configuration, without a name. A request for an application without software costs no query.
  if (name !== undefined || !(await plans.latest(application))) return undefined
  const found = await store.findState(kit.db.sql, { ...application, endpointId })
  if (!found) return undefined
  const { state } = found
  const plan = await plans.at(application, found.revision)
  const matches = await matchesOf(deps, application, endpointId, state)
  const at = kit.now()
  const stored = targetOf(plan, state?.current, matches, at.getTime())
  if (stored && stored.version === known) return { configId: known, config: null }
  const claimed = known === undefined ? undefined : plan.byName.get(known)
  const target = claimed ? targetOf(plan, claimed.number, matches, at.getTime()) : stored
  if (!target) return undefined
  const row = await findVersion(kit.db.sql, { ...application, version: target.version })
  if (!row) return undefined
  if (state?.offered !== target.number)
    await kit.db.tx((sql) =>
      pushes.record(sql, application, [{ endpointId, number: target.number, version: target.version }], at),
    )
  metrics.offered('request')
  return pushes.configurationOf(row)
}

async function applied(
  deps: DeviceDeps,
  endpoint: DeviceEndpoint,
  { name, configId, statusCode, reasonPhrase }: Parameters<DeviceConfigurations['applied']>[1],
): Promise<boolean> {
  const { kit, plans, memberships, pushes, metrics } = deps
  const { endpointId } = endpoint
  const application = applicationOf(endpoint)
  const found = name === undefined ? await store.findState(kit.db.sql, { ...application, endpointId }) : undefined
  const version = found && (await plans.at(application, found.revision)).byName.get(configId)
  const ok = statusCode >= 200 && statusCode <= 299
  const recorded = version && (await record(deps, application, version, { endpointId, ok, statusCode, reasonPhrase }))
  metrics.reported(recorded ? (ok ? 'applied' : 'failed') : 'unknown')
  if (!recorded) return false
  // The filters are read in a second transaction, after the commit of the row: an event about a new match updates only rows that are
  // committed, so a match that arrived during the first transaction would be missed.
  if (!recorded.matched) await kit.db.tx((sql) => memberships.refresh(sql, application, [endpointId]))
  if (version.threshold && version.state === 'active') await checkThreshold(deps, application, version)
  if (deps.gateway.isConnected(endpointId)) pushes.afterReport(application, endpointId)
  else metrics.notOffered('not_connected', endpointId)
  return true
}

async function record(
  { kit }: DeviceDeps,
  application: ApplicationKey,
  version: PlannedVersion,
  outcome: { endpointId: string; ok: boolean; statusCode: number; reasonPhrase: string | undefined },
) {
  const at = kit.now()
  const { endpointId, statusCode, reasonPhrase } = outcome
  const report = { ...outcome, ...version, reasonPhrase: reasonPhrase ?? null, at }
  return await kit.db.tx(async (sql) => {
    const recorded = await store.insertReport(sql, application, report)
    if (!recorded) return undefined
    await store.countReport(sql, application, report)
    if (kit.bus.hasSubscribers(SoftwareReported))
      await kit.bus.publish(sql, SoftwareReported, {
        ...application,
        endpointId,
        version: version.version,
        statusCode,
        ...(reasonPhrase !== undefined && { reasonPhrase }),
        reportedDate: at.toISOString(),
      })
    return recorded
  })
}

/**
 * Halts the rollout if too many endpoints failed. It runs after the commit of the report, so that the last of several concurrent reports
 * sees all reports.
 */
async function checkThreshold(
  { kit, plans }: DeviceDeps,
  application: ApplicationKey,
  { number, epoch }: PlannedVersion,
) {
  const isReached = ({ reported, failed }: { reported: number; failed: number }, version: PlannedVersion) => {
    const { threshold } = version
    return (
      threshold !== undefined &&
      failed > 0 &&
      reported >= threshold.minimumAttempts &&
      failed * 100 >= threshold.percent * reported
    )
  }
  const rollout = { ...application, number, epoch }
  const { sql } = kit.db
  const now = (await plans.latest(application))?.byNumber.get(number)
  if (!now || now.epoch !== epoch || !isReached(await store.sumReports(sql, rollout), now)) return
  const reason = await kit.db.tx(async (tx) => {
    await lockApplication(tx, application)
    const version = (await plans.read(tx, application)).byNumber.get(number)
    const sums = await store.sumReports(tx, rollout)
    if (version?.state !== 'active' || version.epoch !== epoch || !isReached(sums, version)) return undefined
    const text =
      `${sums.failed} of the ${sums.reported} endpoints that reported this version since the last resume could not apply it; ` +
      `the threshold is ${version.threshold!.percent} %`
    await setRolloutState(tx, { ...application, number }, { state: 'halted', reason: text, at: kit.now() })
    await announceChange(kit, tx, application)
    await kit.bus.publish(tx, RolloutHalted, { ...application, version: version.version, reason: text })
    return text
  })
  if (reason) rolloutHalted(kit.log, { ...application, number, reason })
}
