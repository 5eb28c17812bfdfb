import type { Identity } from '../../../identity/contract.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { hasScopeOn, read as readScope, remove, requireEndpoint, tenantToRead, update } from '../access.ts'
import { type EndpointRef, endpointResourceName } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { NoEndpoint } from '../errors.ts'
import { EndpointUnregistered, VersionUpdated } from '../events.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import type { View } from '../lists/store/endpoint-json.ts'
import { findText } from '../lists/store/list.ts'
import { visibleMetadata } from '../metadata/metadata.ts'
import { deleteRelationsOf } from '../relations/store.ts'
import * as store from './store/endpoints.ts'
import { saveVersionOfMany } from './store/many.ts'

export interface Deletion {
  deleted: string[]
  failed: { endpointId: string; reason: string }[]
}

export interface EndpointOperations {
  read(
    ctx: Ctx,
    query: { endpointId: string; tenantId?: string | undefined; metadata: boolean; filters: boolean },
  ): Promise<Document>
  delete(ctx: Ctx, endpointId: string): Promise<void>
  deleteMany(ctx: Ctx, endpointIds: string[]): Promise<Deletion>
  /** Unregisters endpoints for another service, which has checked the caller's permission. */
  unregisterAll(sql: Sql, endpointIds: string[]): Promise<void>
  /** Unregisters locked endpoints of a bulk task. Returns the endpoints that existed. */
  unregister(sql: Sql, endpointIds: string[]): Promise<string[]>
  /**
   * Moves locked endpoints of a bulk task to a version. The application must be locked too. Returns a reason for each endpoint that cannot
   * be moved.
   */
  moveAll(
    sql: Sql,
    rows: store.EndpointRow[],
    to: { applicationName: string; versionName: string },
  ): Promise<Map<string, string>>
  version(ctx: Ctx, endpointId: string): Promise<{ name: string; registeredDate: Date }>
  setVersion(ctx: Ctx, endpointId: string, versionName: string): Promise<void>
  /**
   * Sets the version that the device itself reports. Returns false if the endpoint does not exist, or if its application has no such
   * version.
   */
  setReportedVersion(endpointId: string, versionName: string): Promise<boolean>
  /** Unregisters the endpoints that still belong to a deleted version. */
  unregisterEndpointsOfVersion(
    sql: Sql,
    version: { tenantId: string; applicationName: string; versionName: string },
  ): Promise<void>
}

const orphansPerRound = 1000

interface Deps extends Pick<Kit, 'db' | 'bus' | 'now'> {
  identity: Identity
  applications: Applications
  tokens: Tokens
  changes: Changes
  filters: FilterIndex
}

export function createEndpointOperations(
  { db, bus, now }: Kit,
  services: Pick<Deps, 'identity' | 'applications' | 'tokens' | 'changes' | 'filters'>,
): EndpointOperations {
  const deps: Deps = { db, bus, now, ...services }
  return {
    read: (ctx, query) => read(deps, ctx, query),
    delete: (ctx, endpointId) => deleteOne(deps, ctx, endpointId),
    deleteMany: (ctx, endpointIds) => deleteMany(deps, ctx, [...new Set(endpointIds)]),
    unregisterAll: async (sql, endpointIds) => void (await unregister(deps, sql, endpointIds)),
    unregister: (sql, endpointIds) => unregister(deps, sql, endpointIds),
    moveAll: (sql, rows, to) => moveAll(deps, sql, rows, to),
    async version(ctx, endpointId) {
      const row = requireEndpoint(ctx, endpointId, await store.findEndpoint(db.sql, endpointId))
      return { name: row.versionName, registeredDate: row.versionRegisteredDate }
    },
    setVersion: (ctx, endpointId, versionName) => setVersion(deps, ctx, endpointId, versionName),
    setReportedVersion: (endpointId, versionName) =>
      db.tx(async (sql) => {
        const row = await lockForVersionChange(sql, endpointId)
        return row !== undefined && (await changeVersion(deps, sql, row, versionName))
      }),
    unregisterEndpointsOfVersion: (sql, version) => unregisterEndpointsOfVersion(deps, sql, version),
  }
}

/** Unregisters up to a thousand endpoints. Returns the endpoints that still existed. */
async function unregister(deps: Deps, sql: Sql, endpointIds: string[]): Promise<string[]> {
  const { identity, tokens, changes, bus, now } = deps
  const deleted = await store.deleteEndpoints(sql, endpointIds)
  if (deleted.length === 0) return []
  const ids = deleted.map(({ endpointId }) => endpointId)
  const at = now()
  await deleteRelationsOf(sql, ids, at)
  await changes.notify(sql, deleted)
  const unregisteredDate = at.toISOString()
  for (const [tenantId, ofTenant] of groupedBy(deleted, 'tenantId')) {
    await tokens.deleteTokens(
      sql,
      tenantId,
      ofTenant.map(({ endpointId }) => endpointId),
    )
    await Promise.all(
      ofTenant.map(({ endpointId }) => identity.forgetResource(sql, tenantId, endpointResourceName(endpointId))),
    )
    for (const [applicationName, rows] of groupedBy(ofTenant, 'applicationName')) {
      for (const endpointIds of splitForEvents(rows.map(({ endpointId }) => endpointId)))
        await bus.publish(sql, EndpointUnregistered, { tenantId, applicationName, endpointIds, unregisteredDate })
    }
  }
  return ids
}

/** Locks the endpoint. Also locks its application, so that no version can be deleted meanwhile. */
async function lockForVersionChange(sql: Sql, endpointId: string): Promise<store.EndpointRow | undefined> {
  const ref = await store.findRef(sql, endpointId)
  if (ref) await store.lockApplicationShared(sql, ref.applicationName)
  return await store.lockEndpoint(sql, endpointId)
}

/** Moves an endpoint to a version. Returns false if its application has no such version. */
async function changeVersion(
  { bus, now, applications, changes }: Deps,
  sql: Sql,
  row: store.EndpointRow,
  versionName: string,
): Promise<boolean> {
  const { endpointId, tenantId, applicationName, versionName: previousVersionName, seq } = row
  if (versionName === previousVersionName) return true
  const version = await applications.findVersion(versionName, sql)
  if (version?.tenantId !== tenantId || version.applicationName !== applicationName) return false
  await store.saveVersion(sql, row, versionName, now())
  if (changes.hasListeners()) {
    const metadata = visibleMetadata(row)
    const [before, after] = [
      { versionName: previousVersionName, metadata },
      { versionName, metadata },
    ]
    await changes.notify(sql, [{ tenantId, applicationName, endpointId, seq, before, after }])
  }
  const payload = { tenantId, applicationName, endpointId, versionName, previousVersionName }
  await bus.publish(sql, VersionUpdated, payload)
  return true
}

async function moveAll(
  { bus, now, applications, changes }: Deps,
  sql: Sql,
  rows: store.EndpointRow[],
  { applicationName, versionName }: { applicationName: string; versionName: string },
): Promise<Map<string, string>> {
  const version = await applications.findVersion(versionName, sql)
  const isTarget = (row: EndpointRef) =>
    version?.tenantId === row.tenantId && version.applicationName === row.applicationName
  const failures = new Map<string, string>()
  for (const row of rows)
    if (!isTarget(row) || row.applicationName !== applicationName)
      failures.set(row.endpointId, `application ${row.applicationName} has no version ${versionName}`)
  const moved = rows.filter((row) => !failures.has(row.endpointId) && row.versionName !== versionName)
  if (moved.length === 0) return failures
  await saveVersionOfMany(sql, moved, versionName, now())
  if (changes.hasListeners())
    await changes.notify(
      sql,
      moved.map((row) => {
        const { tenantId, endpointId, seq, versionName: previousVersionName } = row
        const metadata = visibleMetadata(row)
        const [before, after] = [
          { versionName: previousVersionName, metadata },
          { versionName, metadata },
        ]
        return { tenantId, applicationName, endpointId, seq, before, after }
      }),
    )
  await bus.publishAll(
    sql,
    VersionUpdated,
    moved.map(({ tenantId, endpointId, versionName: previousVersionName }) => ({
      tenantId,
      applicationName,
      endpointId,
      versionName,
      previousVersionName,
    })),
  )
  return failures
}

async function read(
  { db, filters }: Deps,
  ctx: Ctx,
  query: Parameters<EndpointOperations['read']>[1],
): Promise<Document> {
  const { endpointId } = query
  const tenantId = query.tenantId === undefined ? undefined : tenantToRead(ctx, query.tenantId)
  const view: View = { metadata: query.metadata ? 'all' : 'none', filters: query.filters ? filters : undefined }
  const endpoint = requireEndpoint(ctx, endpointId, await findText(db.sql, endpointId, view))
  if (tenantId !== undefined && tenantId !== endpoint.tenantId) throw NoEndpoint({ endpointId })
  return documentOf(endpoint.content)
}

async function deleteOne(deps: Deps, ctx: Ctx, endpointId: string) {
  const { applicationName } = await deps.db.tx(async (sql) => {
    const ref = requireEndpoint(ctx, endpointId, await store.findRef(sql, endpointId), remove)
    if ((await unregister(deps, sql, [endpointId])).length === 0) throw NoEndpoint({ endpointId })
    return ref
  })
  await deps.bus.delivered(EndpointUnregistered, applicationName)
}

async function deleteMany(deps: Deps, ctx: Ctx, endpointIds: string[]): Promise<Deletion> {
  const { refs, deletion } = await deps.db.tx(async (sql) => {
    const refs = new Map((await store.findRefs(sql, endpointIds)).map((ref) => [ref.endpointId, ref]))
    const deletableIds = endpointIds.filter((id) => refs.has(id) && hasScopeOn(ctx, refs.get(id)!, remove))
    const deleted = deletableIds.length > 0 ? new Set(await unregister(deps, sql, deletableIds)) : new Set<string>()
    const reasonFor = (endpointId: string) => {
      const ref = refs.get(endpointId)
      const readable = ref && !deletableIds.includes(endpointId) && hasScopeOn(ctx, ref, readScope)
      const error = readable
        ? Forbidden({ scope: remove, resource: endpointResourceName(endpointId) })
        : NoEndpoint({ endpointId })
      return error.message
    }
    const deletion = {
      deleted: endpointIds.filter((id) => deleted.has(id)),
      failed: endpointIds
        .filter((id) => !deleted.has(id))
        .map((endpointId) => ({ endpointId, reason: reasonFor(endpointId) })),
    }
    return { refs, deletion }
  })
  const applicationNames = new Set(deletion.deleted.map((id) => refs.get(id)!.applicationName))
  await Promise.all([...applicationNames].map((name) => deps.bus.delivered(EndpointUnregistered, name)))
  return deletion
}

const setVersion = (deps: Deps, ctx: Ctx, endpointId: string, versionName: string) =>
  deps.db.tx(async (sql) => {
    const row = requireEndpoint(ctx, endpointId, await lockForVersionChange(sql, endpointId), update)
    if (!(await changeVersion(deps, sql, row, versionName)))
      throw invalidField('name', `application ${row.applicationName} has no version ${versionName}`)
  })

async function unregisterEndpointsOfVersion(
  deps: Deps,
  sql: Sql,
  version: Parameters<EndpointOperations['unregisterEndpointsOfVersion']>[1],
) {
  // This lock waits for registrations that began before the deletion.
  await store.lockApplication(sql, version.applicationName)
  // Only registrations during the deletion can leave endpoints. If the version was deleted with its tenant, a job deletes the endpoints.
  const remainingIds = await store.findIdsOfVersion(sql, version.tenantId, version.versionName, orphansPerRound)
  if (remainingIds.length > 0) await unregister(deps, sql, remainingIds)
}

function groupedBy<K extends 'tenantId' | 'applicationName'>(refs: EndpointRef[], key: K): Map<string, EndpointRef[]> {
  return Map.groupBy(refs, (ref) => ref[key])
}
