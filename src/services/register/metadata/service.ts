import { currentCause } from '../../../kernel/cause.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { authorizeOrNotFound } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import type { Applications } from '../../applications/contract.ts'
import { onApplication, requireEndpoint, update } from '../access.ts'
import type { Connectivity, EndpointRef, MetadataChange } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { findKeys } from '../endpoints/store/counts.ts'
import * as store from '../endpoints/store/endpoints.ts'
import { NoApplicationHere, NoMetadataKey } from '../errors.ts'
import { MetadataUpdated } from '../events.ts'
import { setConnectivity } from './connectivity.ts'
import { type ConnectivityKeys, type ConnectivityKeysOf, reservedKeys } from './connectivity-keys.ts'
import {
  checkKey,
  checkKeyCount,
  checkMetadata,
  checkWritableKey,
  differenceOf,
  hasKey,
  type IsReserved,
  type Metadata,
  pick,
  visibleMetadata,
  withKey,
  withoutReserved,
} from './metadata.ts'
import { type MetadataPatch, patchAll, patchedOf } from './patch-all.ts'

export interface MetadataOperations {
  /** Returns all metadata, or only `keys`. */
  read(ctx: Ctx, endpointId: string, keys?: string[]): Promise<{ metadata: Metadata; etag: string }>
  readKey(ctx: Ctx, endpointId: string, key: string): Promise<unknown>
  /** Replaces all metadata. This and the next three functions return the new ETag. */
  replace(ctx: Ctx, endpointId: string, metadata: Metadata, ifMatch: string | undefined): Promise<string>
  patch(ctx: Ctx, endpointId: string, operations: unknown[], ifMatch: string | undefined): Promise<string>
  setKey(ctx: Ctx, endpointId: string, key: string, value: unknown, ifMatch: string | undefined): Promise<string>
  deleteKey(ctx: Ctx, endpointId: string, key: string, ifMatch: string | undefined): Promise<string>
  /** Patches locked endpoints of a bulk task. Returns a reason for each endpoint whose metadata cannot be patched. */
  patchAll(sql: Sql, rows: store.EndpointRow[], patch: MetadataPatch): Promise<Map<string, string>>
  keysOfApplication(ctx: Ctx, applicationName: string): Promise<Record<string, string[]>>
  /** Applies a change that the device itself makes. Returns false if the endpoint does not exist. */
  change(endpointId: string, change: MetadataChange, options?: { cause?: string }): Promise<boolean>
  setConnectivity(changes: Connectivity[]): Promise<void>
}

export type { MetadataPatch } from './patch-all.ts'

/**
 * Returns the ETag of the metadata. Connectivity keys do not change it. If an endpoint is registered again with the same id, its ETags
 * differ.
 */
const etagFor = (row: store.EndpointRow, revision = row.metadataRevision) =>
  etagOf(row.endpointId, row.createdDate.toISOString(), String(revision))

interface Deps extends Pick<Kit, 'db' | 'bus' | 'now'> {
  applications: Applications
  changes: Changes
  connectivityKeys: ConnectivityKeysOf
}

export function createMetadataOperations(
  kit: Kit,
  services: Pick<Deps, 'applications' | 'changes' | 'connectivityKeys'>,
): MetadataOperations {
  const deps: Deps = { db: kit.db, bus: kit.bus, now: kit.now, ...services }
  return {
    read: (ctx, endpointId, keys) => readMetadata(deps, ctx, endpointId, keys),
    readKey: (ctx, endpointId, key) => readKey(deps, ctx, endpointId, key),
    replace: (ctx, endpointId, metadata, ifMatch) => replace(deps, { ctx, endpointId, ifMatch }, metadata),
    patch: (ctx, endpointId, operations, ifMatch) => patch(deps, { ctx, endpointId, ifMatch }, operations),
    setKey: (ctx, endpointId, key, value, ifMatch) => setKey(deps, { ctx, endpointId, ifMatch }, key, value),
    deleteKey: (ctx, endpointId, key, ifMatch) => deleteKey(deps, { ctx, endpointId, ifMatch }, key),
    patchAll: (sql, rows, change) => patchAll(deps, sql, rows, change),
    keysOfApplication: (ctx, name) => keysOfApplication(deps, ctx, name),
    change: (endpointId, change, options) => changeForDevice(deps, endpointId, change, options),
    setConnectivity: (changes) => setConnectivity(deps, changes),
  }
}

async function readMetadata({ db }: Deps, ctx: Ctx, endpointId: string, keys: string[] | undefined) {
  for (const key of keys ?? []) checkKey(key, 'include')
  const row = requireEndpoint(ctx, endpointId, await store.findEndpoint(db.sql, endpointId))
  const metadata = visibleMetadata(row)
  return { metadata: keys ? pick(metadata, (key) => keys.includes(key)) : metadata, etag: etagFor(row) }
}

async function readKey({ db }: Deps, ctx: Ctx, endpointId: string, key: string) {
  const metadata = visibleMetadata(requireEndpoint(ctx, endpointId, await store.findEndpoint(db.sql, endpointId)))
  if (!hasKey(metadata, key)) throw NoMetadataKey({ key, endpointId })
  return metadata[key]
}

/** Writes the metadata and publishes the difference. Returns the new revision. `newMetadata` must contain no reserved keys. */
async function save(
  { bus, now, changes }: Deps,
  sql: Sql,
  row: store.EndpointRow,
  newMetadata: Metadata,
  isReserved: IsReserved,
  { cause = currentCause() }: { cause?: string } = {},
): Promise<number> {
  const { endpointId, tenantId, applicationName, versionName, seq } = row
  // The size is checked first, because comparing metadata of any size could block the main thread.
  checkMetadata(newMetadata, isReserved)
  const metadata = { ...newMetadata, ...pick(row.metadata, isReserved) }
  const difference = differenceOf(row.metadata, metadata)
  if (!difference) return row.metadataRevision
  const addedKeys = Object.keys(difference.added)
  const removedKeys = Object.keys(difference.removed)
  const revision = await store.saveMetadata(sql, { ...row, metadata, at: now(), addedKeys, removedKeys })
  if (changes.hasListeners()) {
    const before = { versionName, metadata: visibleMetadata(row) }
    const after = { versionName, metadata: visibleMetadata({ ...row, metadata }) }
    await changes.notify(sql, [{ tenantId, applicationName, endpointId, seq, before, after }])
  }
  const endpoint = { tenantId, applicationName, versionName, endpointId }
  await bus.publish(sql, MetadataUpdated, { ...endpoint, ...(cause !== undefined && { cause }), ...difference })
  return revision
}

/**
 * Locks the endpoint while `work` runs. The reserved keys depend on the configuration of its version. If the configuration is not cached,
 * it is read outside of the transaction, and then the transaction starts again.
 */
async function withLockedEndpoint<T>(
  { db, connectivityKeys }: Deps,
  endpointId: string,
  work: (sql: Sql, row: store.EndpointRow | undefined, isReserved: IsReserved) => Promise<T>,
): Promise<T> {
  // The configuration that was read is used even if it changes meanwhile, so that this loop ends.
  let loaded: { versionName: string; keys: ConnectivityKeys | undefined } | undefined
  for (;;) {
    const attempt = await db.tx(async (sql) => {
      const row = await store.lockEndpoint(sql, endpointId)
      const keys = row && (loaded?.versionName === row.versionName ? loaded.keys : connectivityKeys(row))
      if (keys instanceof Promise) return { uncached: row as EndpointRef }
      return { result: await work(sql, row, reservedKeys(keys, row?.connectivityKeys)) }
    })
    if ('result' in attempt) return attempt.result as T
    loaded = { versionName: attempt.uncached.versionName, keys: await connectivityKeys(attempt.uncached) }
  }
}

/** The endpoint to change, the caller, and the expected ETag. */
interface Target {
  ctx: Ctx
  endpointId: string
  ifMatch: string | undefined
}

const changeForCaller = (
  deps: Deps,
  { ctx, endpointId, ifMatch }: Target,
  make: (row: store.EndpointRow, isReserved: IsReserved) => Metadata | Promise<Metadata>,
) =>
  withLockedEndpoint(deps, endpointId, async (sql, found, isReserved) => {
    const row = requireEndpoint(ctx, endpointId, found, update)
    checkIfMatch(ifMatch, etagFor(row))
    return etagFor(row, await save(deps, sql, row, await make(row, isReserved), isReserved))
  })

/** Replaces all metadata. Reserved keys are ignored, so that a caller can write back everything that it has read. */
const replace = (deps: Deps, target: Target, metadata: Metadata) =>
  changeForCaller(deps, target, (_, isReserved) => {
    // The number of keys is checked before they are processed, because a body may have twenty thousand keys.
    checkKeyCount(metadata)
    return withoutReserved(metadata, isReserved)
  })

const patch = (deps: Deps, target: Target, operations: unknown[]) =>
  changeForCaller(deps, target, (row, isReserved) => patchedOf(visibleMetadata(row), { operations }, isReserved))

async function setKey(deps: Deps, target: Target, key: string, value: unknown) {
  checkWritableKey(key, reservedKeys(), 'key')
  return await changeForCaller(deps, target, ({ metadata }, isReserved) => {
    checkWritableKey(key, isReserved, 'key')
    return withoutReserved(withKey(metadata, key, value), isReserved)
  })
}

async function deleteKey(deps: Deps, target: Target, key: string) {
  if (reservedKeys()(key)) checkWritableKey(key, reservedKeys(), 'key')
  return await changeForCaller(deps, target, ({ metadata }, isReserved) => {
    if (isReserved(key)) checkWritableKey(key, isReserved, 'key')
    if (!hasKey(metadata, key)) throw NoMetadataKey({ key, endpointId: target.endpointId })
    return withoutReserved(
      pick(metadata, (name) => name !== key),
      isReserved,
    )
  })
}

async function keysOfApplication({ db, applications }: Deps, ctx: Ctx, name: string) {
  const notFound = () => NoApplicationHere({ name })
  const versionNames = await applications.versionNames(ctx, { name })
  if (!versionNames) throw notFound()
  const scope = 'application:endpoints-metadata-keys:read'
  authorizeOrNotFound(ctx, { read: 'application:read', scope }, onApplication(ctx.tenantId, name), notFound)
  const versionKeys = await findKeys(db.sql, { tenantId: ctx.tenantId, applicationName: name })
  const keysByVersion = Map.groupBy(versionKeys, ({ versionName }) => versionName)
  const keysOf = (versionName: string) => keysByVersion.get(versionName)?.map(({ metadataKey }) => metadataKey) ?? []
  return Object.fromEntries(
    versionNames.map((versionName) => [versionName, keysOf(versionName).filter((key) => key !== '')]),
  )
}

const changeForDevice = (deps: Deps, endpointId: string, change: MetadataChange, options?: { cause?: string }) =>
  withLockedEndpoint(deps, endpointId, async (sql, row, isReserved) => {
    if (!row) return false
    const metadata = applyChange(withoutReserved(row.metadata, isReserved), change, isReserved)
    await save(deps, sql, row, metadata, isReserved, options)
    return true
  })

const withoutKeys = (metadata: Metadata, keys: string[]) => pick(metadata, (key) => !keys.includes(key))

function applyChange(metadata: Metadata, change: MetadataChange, isReserved: IsReserved): Metadata {
  if ('merge' in change) {
    const { merge, remove = [] } = change
    checkKeyCount(merge)
    for (const key of [...Object.keys(merge), ...remove]) checkWritableKey(key, isReserved)
    return { ...withoutKeys(metadata, remove), ...merge }
  }
  if ('remove' in change) {
    for (const key of change.remove) checkWritableKey(key, isReserved)
    return withoutKeys(metadata, change.remove)
  }
  checkKeyCount(change.replace)
  const { keep, only, replace } = change
  const isReplaced = (key: string) => only?.includes(key) ?? true
  const unchangedKeys = pick(metadata, (key) => !isReplaced(key) || (keep?.includes(key) ?? false))
  return { ...unchangedKeys, ...pick(withoutReserved(replace, isReserved), isReplaced) }
}
