import type { Identity } from '../../../identity/contract.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { mayUse, permitted, read as readScope, remove, tenantToRead, update } from '../access.ts'
import { type EndpointRef, endpointResourceName } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { NoEndpoint } from '../errors.ts'
import { EndpointUnregistered, VersionUpdated } from '../events.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import type { View } from '../lists/store/endpoint-json.ts'
import { findText } from '../lists/store/list.ts'
import { wholeMetadata } from '../metadata/metadata.ts'
import { deleteRelationsOf } from '../relations/store.ts'
import * as store from './store/endpoints.ts'

export interface Deletion {
  deleted: string[]
  failed: { endpointId: string; reason: string }[]
}

export interface EndpointRules {
  read(
    ctx: Ctx,
    of: { endpointId: string; tenantId?: string | undefined; metadata: boolean; filters: boolean },
  ): Promise<Document>
  delete(ctx: Ctx, endpointId: string): Promise<void>
  deleteMany(ctx: Ctx, endpointIds: string[]): Promise<Deletion>
  version(ctx: Ctx, endpointId: string): Promise<{ name: string; registeredDate: Date }>
  setVersion(ctx: Ctx, endpointId: string, versionName: string): Promise<void>
  /** Sets the version for the device itself. Returns false if its application has no such version. */
  followVersion(endpointId: string, versionName: string): Promise<boolean>
  /** Unregisters endpoints that a deleted version has left. */
  forgetVersion(sql: Sql, of: { tenantId: string; applicationName: string; versionName: string }): Promise<void>
}

const leftoversMax = 1000

interface Deps extends Pick<Kit, 'db' | 'bus' | 'now'> {
  identity: Identity
  applications: Applications
  tokens: Tokens
  changes: Changes
  filters: FilterIndex
}

export function createEndpointRules(
  { db, bus, now }: Kit,
  given: Pick<Deps, 'identity' | 'applications' | 'tokens' | 'changes' | 'filters'>,
): EndpointRules {
  const deps: Deps = { db, bus, now, ...given }
  return {
    read: (ctx, of) => read(deps, ctx, of),
    delete: (ctx, endpointId) => deleteOne(deps, ctx, endpointId),
    deleteMany: (ctx, endpointIds) => deleteMany(deps, ctx, [...new Set(endpointIds)]),
    async version(ctx, endpointId) {
      const row = permitted(ctx, endpointId, await store.findEndpoint(db.sql, endpointId))
      return { name: row.versionName, registeredDate: row.versionRegisteredDate }
    },
    setVersion: (ctx, endpointId, versionName) => setVersion(deps, ctx, endpointId, versionName),
    followVersion: (endpointId, versionName) =>
      db.tx(async (sql) => {
        const row = await lockForMove(sql, endpointId)
        return row !== undefined && (await move(deps, sql, row, versionName))
      }),
    forgetVersion: (sql, of) => forgetVersion(deps, sql, of),
  }
}

/** Unregisters up to a thousand endpoints. Returns those that still existed. */
async function unregister(deps: Deps, sql: Sql, endpointIds: string[]): Promise<string[]> {
  const { identity, tokens, changes, bus, now } = deps
  const gone = await store.deleteEndpoints(sql, endpointIds)
  if (gone.length === 0) return []
  const ids = gone.map(({ endpointId }) => endpointId)
  await deleteRelationsOf(sql, ids)
  await changes.notify(sql, gone)
  const unregisteredDate = now().toISOString()
  for (const [tenantId, ofTenant] of groupedBy(gone, 'tenantId')) {
    await tokens.forget(
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

/** Locks the endpoint, and its application against the deletion of versions. */
async function lockForMove(sql: Sql, endpointId: string): Promise<store.EndpointRow | undefined> {
  const ref = await store.findRef(sql, endpointId)
  if (ref) await store.holdApplication(sql, ref.applicationName)
  return await store.lockEndpoint(sql, endpointId)
}

/** Moves an endpoint to a version. Returns false if its application has no such version. */
async function move(
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
    const metadata = wholeMetadata(row)
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

async function read({ db, filters }: Deps, ctx: Ctx, of: Parameters<EndpointRules['read']>[1]): Promise<Document> {
  const { endpointId } = of
  const tenantId = of.tenantId === undefined ? undefined : tenantToRead(ctx, of.tenantId)
  const view: View = { metadata: of.metadata ? 'all' : 'none', filters: of.filters ? filters : undefined }
  const found = permitted(ctx, endpointId, await findText(db.sql, endpointId, view))
  if (tenantId !== undefined && tenantId !== found.tenantId) throw NoEndpoint({ endpointId })
  return documentOf(found.content)
}

const deleteOne = (deps: Deps, ctx: Ctx, endpointId: string) =>
  deps.db.tx(async (sql) => {
    permitted(ctx, endpointId, await store.findRef(sql, endpointId), remove)
    if ((await unregister(deps, sql, [endpointId])).length === 0) throw NoEndpoint({ endpointId })
  })

const deleteMany = (deps: Deps, ctx: Ctx, endpointIds: string[]): Promise<Deletion> =>
  deps.db.tx(async (sql) => {
    const found = new Map((await store.findRefs(sql, endpointIds)).map((ref) => [ref.endpointId, ref]))
    const allowed = endpointIds.filter((id) => found.has(id) && mayUse(ctx, found.get(id)!, remove))
    const deleted = allowed.length > 0 ? new Set(await unregister(deps, sql, allowed)) : new Set<string>()
    const reasonFor = (endpointId: string) => {
      const ref = found.get(endpointId)
      const readable = ref && !allowed.includes(endpointId) && mayUse(ctx, ref, readScope)
      const why = readable
        ? Forbidden({ scope: remove, resource: endpointResourceName(endpointId) })
        : NoEndpoint({ endpointId })
      return why.message
    }
    return {
      deleted: endpointIds.filter((id) => deleted.has(id)),
      failed: endpointIds
        .filter((id) => !deleted.has(id))
        .map((endpointId) => ({ endpointId, reason: reasonFor(endpointId) })),
    }
  })

const setVersion = (deps: Deps, ctx: Ctx, endpointId: string, versionName: string) =>
  deps.db.tx(async (sql) => {
    const row = permitted(ctx, endpointId, await lockForMove(sql, endpointId), update)
    if (!(await move(deps, sql, row, versionName)))
      throw invalidField('name', `application ${row.applicationName} has no version ${versionName}`)
  })

async function forgetVersion(deps: Deps, sql: Sql, of: Parameters<EndpointRules['forgetVersion']>[1]) {
  // Waits for registrations that began before the deletion.
  await store.lockApplication(sql, of.applicationName)
  // Only concurrent registrations leave endpoints here. Those of a deleted tenant are deleted by a job.
  const left = await store.findIdsOfVersion(sql, of.tenantId, of.versionName, leftoversMax)
  if (left.length > 0) await unregister(deps, sql, left)
}

function groupedBy<K extends 'tenantId' | 'applicationName'>(refs: EndpointRef[], key: K): Map<string, EndpointRef[]> {
  return Map.groupBy(refs, (ref) => ref[key])
}
