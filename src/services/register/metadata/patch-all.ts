/** Patches the metadata of one endpoint for a caller, and of many endpoints in a bulk task. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { Changes } from '../endpoint-changes.ts'
import type { EndpointRow } from '../endpoints/store/endpoints.ts'
import { type MetadataToSave, saveMetadataOfMany } from '../endpoints/store/many.ts'
import { MetadataUpdated } from '../events.ts'
import { type ConnectivityKeysOf, reservedKeys } from './connectivity-keys.ts'
import {
  checkKeyCount,
  checkMetadata,
  checkWritableKey,
  differenceOf,
  type IsReserved,
  type Metadata,
  patchedMetadata,
  pick,
  visibleMetadata,
  withoutReserved,
} from './metadata.ts'

/** A JSON Patch (RFC 6902) or a JSON Merge Patch (RFC 7396). */
export interface MetadataPatch {
  operations?: unknown[]
  merge?: Metadata
}

interface Deps extends Pick<Kit, 'bus' | 'now'> {
  changes: Changes
  connectivityKeys: ConnectivityKeysOf
}

/** Returns the patched metadata without reserved keys. Throws a 400 for a patch of a reserved key, and the errors of JSON Patch. */
export async function patchedOf(
  visible: Metadata,
  { operations, merge = {} }: MetadataPatch,
  isReserved: IsReserved,
): Promise<Metadata> {
  const reservedKey = (operations?.flatMap(keysWritten) ?? Object.keys(merge)).find(isReserved)
  if (reservedKey !== undefined) checkWritableKey(reservedKey, isReserved, operations ? 'body' : 'merge')
  const patched = operations ? await patchedMetadata(visible, operations) : merged(visible, merge)
  checkKeyCount(patched)
  return withoutReserved(patched, isReserved)
}

/** Returns the top-level keys that a patch operation changes. The operation may still be invalid, because it is checked later. */
function keysWritten(operation: unknown): string[] {
  const { op, path, from } = (operation ?? {}) as { op?: unknown; path?: unknown; from?: unknown }
  const pointers = op === 'test' ? [] : op === 'move' ? [path, from] : [path]
  return pointers
    .filter((pointer) => typeof pointer === 'string')
    .map((pointer) => pointer.split('/')[1])
    .filter((key) => key !== undefined)
}

const isObject = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges objects member by member. Null removes a member. Only own properties are used, so `__proto__` is an ordinary name. */
export function merged(target: unknown, patch: Metadata): Metadata {
  const members = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch))
    if (value === null) members.delete(key)
    else members.set(key, isObject(value) ? merged(members.get(key), value) : value)
  return Object.fromEntries(members)
}

export async function patchAll(
  deps: Deps,
  sql: Sql,
  rows: EndpointRow[],
  patch: MetadataPatch,
): Promise<Map<string, string>> {
  const { bus, now, changes, connectivityKeys } = deps
  const failures = new Map<string, string>()
  const saved: { row: EndpointRow; save: MetadataToSave; difference: NonNullable<ReturnType<typeof differenceOf>> }[] =
    []
  for (const row of rows) {
    // Only few tasks run at a time, so a task may wait for the configuration of a version while it holds a connection.
    const isReserved = reservedKeys(await connectivityKeys(row), row.connectivityKeys)
    try {
      const patched = await patchedOf(visibleMetadata(row), patch, isReserved)
      checkMetadata(patched, isReserved)
      const metadata = { ...patched, ...pick(row.metadata, isReserved) }
      const difference = differenceOf(row.metadata, metadata)
      if (!difference) continue
      const [addedKeys, removedKeys] = [Object.keys(difference.added), Object.keys(difference.removed)]
      saved.push({ row, save: { ...row, metadata, addedKeys, removedKeys }, difference })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      failures.set(row.endpointId, error.message)
    }
  }
  if (saved.length === 0) return failures
  await saveMetadataOfMany(
    sql,
    saved.map(({ save }) => save),
    now(),
  )
  if (changes.hasListeners())
    await changes.notify(
      sql,
      saved.map(({ row, save }) => {
        const { tenantId, applicationName, endpointId, versionName, seq } = row
        const before = { versionName, metadata: visibleMetadata(row) }
        const after = { versionName, metadata: visibleMetadata({ ...row, metadata: save.metadata }) }
        return { tenantId, applicationName, endpointId, seq, before, after }
      }),
    )
  await bus.publishAll(
    sql,
    MetadataUpdated,
    saved.map(({ row: { tenantId, applicationName, versionName, endpointId }, difference }) => ({
      tenantId,
      applicationName,
      versionName,
      endpointId,
      ...difference,
    })),
  )
  return failures
}
