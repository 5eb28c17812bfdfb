/**
 * Applies activations and resolutions by rules in batches. A batch is one transaction with a fixed number of statements, unless it contains
 * several changes of the same alert.
 */
import { createBatcher } from '../../../../kernel/batcher.ts'
import type { Sql } from '../../../../kernel/db.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import type { Register } from '../../../register/contract.ts'
import { AlertChanged } from '../../events.ts'
import type { AlertKey, LifecycleEventType, Severity } from '../model.ts'
import { rankOf } from '../model.ts'
import * as store from '../store/alerts.ts'

export interface Activation extends AlertKey {
  severityLevel: Severity
  /** If absent, the message of an open alert stays unchanged. */
  message?: string
  /** If absent, the metadata of an open alert stays unchanged. */
  metadata?: Record<string, unknown> | undefined
  applicationName?: string | undefined
  alertSettingId?: string | undefined
  cause: string
}

export interface Resolution extends AlertKey {
  reason?: string
  cause: string
}

export type Change = { activation: Activation } | { resolution: Resolution }

export interface Changed {
  alertId: string
  /** RENEWED means that severity and message stayed the same. Only `lastActiveAt` changed, and possibly the metadata. */
  change: LifecycleEventType | 'RENEWED'
}

export interface ChangeDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'quota'>
  register: Pick<Register, 'metadataOf'>
}

const batchMax = 200
const attemptsMax = 5

export const keyOf = ({ tenantId, entityType, entityId, alertType }: AlertKey) =>
  JSON.stringify([tenantId, entityType, entityId, alertType])
const alertKeyOf = (change: Change): AlertKey => ('activation' in change ? change.activation : change.resolution)

/** Returns a function that applies a change. The function returns undefined if there was no open alert to resolve. */
export function createAlertChanges(deps: ChangeDeps) {
  return createBatcher<Change, Changed>((changes) => applyAll(deps, changes), batchMax)
}

/**
 * Applies changes in rounds, each in one transaction. A round contains at most one change of each alert, so several changes of an alert are
 * applied in the order of the list.
 */
async function applyAll(deps: ChangeDeps, changes: Change[]): Promise<(Changed | undefined)[]> {
  const results = new Map<Change, Changed | undefined>()
  for (let left = changes; left.length > 0; ) {
    const round = new Map<string, Change>()
    const later: Change[] = []
    for (const change of left) {
      const key = keyOf(alertKeyOf(change))
      if (round.has(key)) later.push(change)
      else round.set(key, change)
    }
    for (const [change, result] of await applyRound(deps, round)) results.set(change, result)
    left = later
  }
  return changes.map((change) => results.get(change))
}

type Results = Map<Change, Changed | undefined>

/** Rolls back a round, because one of its alerts was opened or resolved after the round began. The round is then tried again. */
class RoundOutdated extends Error {}

async function applyRound(deps: ChangeDeps, round: Map<string, Change>): Promise<Results> {
  for (let attempt = 1; ; attempt++) {
    const metadata = await metadataOfNew(deps, round, attempt)
    try {
      return await deps.kit.db.tx((sql) => applyInTransaction(deps, sql, round, metadata))
    } catch (error) {
      if (!(error instanceof RoundOutdated)) throw error
      if (attempt === attemptsMax) throw new Error('alerts of these entities change too often', { cause: error })
    }
  }
}

type EntityMetadata = Map<string, Record<string, unknown> | undefined>

/**
 * Reads the metadata of the endpoints that get a new alert, before the transaction. From the second attempt on, it reads the metadata of all
 * endpoints, because any open alert may be resolved before the transaction locks it.
 */
async function metadataOfNew(
  { kit, register }: ChangeDeps,
  round: Map<string, Change>,
  attempt: number,
): Promise<EntityMetadata> {
  const activations = [...round.values()].flatMap((change) => ('activation' in change ? [change.activation] : []))
  if (activations.length === 0) return new Map()
  const open = new Set(attempt === 1 ? (await store.findOpen(kit.db.sql, activations)).map(keyOf) : [])
  const ids = activations
    .filter((key) => key.entityType === 'ENDPOINT' && !open.has(keyOf(key)))
    .map(({ entityId }) => entityId)
  return new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await register.metadataOf(id)] as const)))
}

/**
 * Applies a round: one change for each alert. Throws `RoundOutdated` if another transaction opened one of the alerts meanwhile, or resolved
 * an alert whose endpoint's metadata was not read because the alert was open.
 */
async function applyInTransaction(
  deps: ChangeDeps,
  sql: Sql,
  round: Map<string, Change>,
  metadata: EntityMetadata,
): Promise<Results> {
  const { kit } = deps
  const at = kit.now()
  const locked = await store.lockOpen(sql, [...round.values()].map(alertKeyOf))
  const open = new Map(locked.map((row) => [keyOf(row), row]))
  const missing = [...round]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, change]) => ('activation' in change && !open.has(key) ? [change.activation] : []))
  if (missing.some(({ entityType, entityId }) => entityType === 'ENDPOINT' && !metadata.has(entityId)))
    throw new RoundOutdated('an alert was resolved after the metadata was read')
  const fresh = missing.map((activation) => newAlert(kit.newId(), activation, metadata, at))
  const inserted = fresh.length > 0 ? await store.insertAlerts(sql, fresh) : []
  if (inserted.length < fresh.length) throw new RoundOutdated('another transaction has opened an alert')
  for (const row of inserted) open.set(keyOf(row), row)
  const news = new Set(inserted)
  const writer = createEventWriter(deps, at)
  const results: Results = new Map()
  const updated: store.AlertRow[] = []
  for (const [key, change] of round) {
    const row = open.get(key)
    if (!row) {
      results.set(change, undefined)
      continue
    }
    const kind = news.has(row) ? 'ACTIVATED' : applyTo(row, change, at)
    if (kind !== 'ACTIVATED') updated.push(row)
    if (kind !== 'RENEWED') writer.add(row, kind, { cause: causeIn(change) })
    results.set(change, { alertId: row.id, change: kind })
  }
  if (updated.length > 0) await store.updateAlerts(sql, updated)
  await writer.write(sql)
  return results
}

const causeIn = (change: Change) => ('activation' in change ? change.activation.cause : change.resolution.cause)

const newAlert = (id: string, activation: Activation, entityMetadata: EntityMetadata, at: Date): store.NewAlert => ({
  id,
  tenantId: activation.tenantId,
  entityType: activation.entityType,
  entityId: activation.entityId,
  alertType: activation.alertType,
  severity: rankOf(activation.severityLevel),
  applicationName: activation.applicationName ?? null,
  message: activation.message ?? null,
  at,
  alertSettingId: activation.alertSettingId ?? null,
  metadata: activation.metadata ?? {},
  entityMetadata: entityMetadata.get(activation.entityId) ?? null,
})

/** Changes the row of an open alert, and returns the kind of change. */
function applyTo(row: store.AlertRow, change: Change, at: Date): Changed['change'] {
  if ('resolution' in change) {
    resolve(row, change.resolution.reason, at)
    return 'RESOLVED'
  }
  const { severityLevel, message = row.message, metadata = row.metadata } = change.activation
  const severity = rankOf(severityLevel)
  const isUpdated = severity !== row.severity || message !== row.message
  // A node whose clock is behind must not set `lastActiveAt` to an earlier time.
  const lastActiveAt = at > row.lastActiveAt ? at : row.lastActiveAt
  Object.assign(row, { severity, message, metadata, lastActiveAt })
  return isUpdated ? 'UPDATED' : 'RENEWED'
}

export function resolve(row: store.AlertRow, reason: string | undefined, at: Date) {
  Object.assign(row, { state: 'RESOLVED', resolvedAt: at, resolveReason: reason ?? null })
}

export interface EventDetails {
  userId?: string
  comment?: string
  cause?: string
}

/** Collects lifecycle events. `write` stores and publishes them. */
export function createEventWriter({ kit }: Pick<ChangeDeps, 'kit'>, at: Date) {
  const events: { row: store.AlertRow; eventType: LifecycleEventType; details: EventDetails; id: string }[] = []
  return {
    add(row: store.AlertRow, eventType: LifecycleEventType, details: EventDetails) {
      events.push({ row, eventType, details, id: kit.newId() })
    },
    async write(sql: Sql) {
      if (events.length === 0) return
      const entries = events.flatMap(({ row, eventType, details, id }) => {
        const payload = payloadOf(row, eventType, details)
        if (!isStored(kit.quota, row, eventType, payload)) return []
        return [{ id, alertId: row.id, eventType, at, userId: details.userId ?? null, payload }]
      })
      if (entries.length > 0) await store.insertEvents(sql, entries)
      await kit.bus.publishAll(
        sql,
        AlertChanged,
        events.map(({ row, eventType, details: { cause }, id }) => ({
          tenantId: row.tenantId,
          ...originOf(row),
          eventId: id,
          eventType,
          alert: store.viewOf(row),
          ...(cause !== undefined && { cause }),
        })),
        { thisNodeOnly: true },
      )
    },
  }
}

/**
 * Counts a lifecycle event, and its alert if the alert is new, towards the quota of the tenant. Returns whether the event is stored. Above
 * the quota, UPDATED is not stored, because rules can update an alert any number of times.
 */
function isStored(
  quota: Kit['quota'],
  { tenantId, metadata, entityMetadata }: store.AlertRow,
  eventType: LifecycleEventType,
  payload: object,
): boolean {
  const documents = eventType === 'ACTIVATED' ? [payload, metadata, entityMetadata] : [payload]
  const bytes = documents.reduce((sum, document) => sum + JSON.stringify(document).length, 0)
  if (eventType === 'UPDATED') return quota.allowsDetails(tenantId, 'alerts', bytes)
  quota.count(tenantId, 'alerts', bytes)
  return true
}

/** Returns the endpoint of an alert. An alert of the tenant has no endpoint, even if a run for an endpoint activated it. */
const originOf = ({ entityType, entityId, applicationName }: store.AlertRow) =>
  entityType === 'ENDPOINT' && applicationName !== null ? { applicationName, endpointId: entityId } : {}

function payloadOf(row: store.AlertRow, eventType: LifecycleEventType, { comment }: EventDetails) {
  const { severityLevel, message, acknowledgement, resolveReason } = store.viewOf(row)
  return {
    severityLevel,
    acknowledgement,
    ...(message !== undefined && { message }),
    ...(eventType === 'RESOLVED' && resolveReason !== undefined && { resolveReason }),
    ...(comment !== undefined && { comment }),
  }
}
