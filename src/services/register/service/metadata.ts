import type { Ctx } from '../../../kernel/contract.ts'
import { authorizeOn } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Changes } from '../changes.ts'
import type { Connectivity, MetadataChange } from '../contract.ts'
import { NoApplicationHere, NoMetadataKey } from '../errors.ts'
import { MetadataUpdated } from '../events.ts'
import {
  checkKey,
  checkMetadata,
  checkOwnKey,
  connectivityKeys,
  differenceOf,
  has,
  type Metadata,
  patchedMetadata,
  pick,
  withKey,
  withoutConnectivity,
} from '../metadata.ts'
import { connectivityOf, wholeMetadata } from '../present.ts'
import { findKeys } from '../store/counts.ts'
import * as store from '../store/endpoints.ts'
import { onApplication, permitted, update } from './access.ts'

export interface MetadataRules {
  /** `keys`: only these. */
  read(ctx: Ctx, endpointId: string, keys?: string[]): Promise<{ metadata: Metadata; etag: string }>
  readKey(ctx: Ctx, endpointId: string, key: string): Promise<unknown>
  /** Each change answers with the ETag of what there is now. */
  replace(ctx: Ctx, endpointId: string, metadata: Metadata, ifMatch: string | undefined): Promise<string>
  patch(ctx: Ctx, endpointId: string, operations: unknown[], ifMatch: string | undefined): Promise<string>
  setKey(ctx: Ctx, endpointId: string, key: string, value: unknown, ifMatch: string | undefined): Promise<string>
  deleteKey(ctx: Ctx, endpointId: string, key: string, ifMatch: string | undefined): Promise<string>
  keysOfApplication(ctx: Ctx, applicationName: string): Promise<Record<string, string[]>>
  /** For the endpoint itself. */
  change(endpointId: string, change: MetadataChange): Promise<boolean>
  setConnectivity(changes: Connectivity[]): Promise<void>
}

/** The connectivity keys do not count, and an endpoint that comes again under the same id has other tags. */
const etagFor = (row: store.EndpointRow, revision = row.metadataRevision) =>
  etagOf(row.endpointId, row.createdDate.toISOString(), String(revision))

export function createMetadataRules(
  { db, bus, now }: Kit,
  { applications, changes }: { applications: Applications; changes: Changes },
): MetadataRules {
  /** Writes what differs and tells it; the revision that is then the current one. */
  async function save(sql: Sql, row: store.EndpointRow, metadata: Metadata): Promise<number> {
    const { endpointId, tenantId, applicationName, versionName, seq } = row
    const difference = differenceOf(row.metadata, metadata)
    if (!difference) return row.metadataRevision
    checkMetadata(metadata)
    const addedKeys = Object.keys(difference.added)
    const removedKeys = Object.keys(difference.removed)
    const revision = await store.saveMetadata(sql, { ...row, metadata, at: now(), addedKeys, removedKeys })
    if (changes.heard()) {
      const before = { versionName, metadata: wholeMetadata(row) }
      const after = { versionName, metadata: wholeMetadata({ ...row, metadata }) }
      await changes.tell(sql, [{ tenantId, applicationName, endpointId, seq, before, after }])
    }
    await bus.publish(sql, MetadataUpdated, { tenantId, applicationName, versionName, endpointId, ...difference })
    return revision
  }

  const changeAs = (
    ctx: Ctx,
    endpointId: string,
    ifMatch: string | undefined,
    make: (row: store.EndpointRow) => Metadata,
  ) =>
    db.tx(async (sql) => {
      const row = permitted(ctx, endpointId, await store.lockEndpoint(sql, endpointId), update)
      checkIfMatch(ifMatch, etagFor(row))
      return etagFor(row, await save(sql, row, make(row)))
    })

  return {
    async read(ctx, endpointId, keys) {
      for (const key of keys ?? []) checkKey(key, 'include')
      const row = permitted(ctx, endpointId, await store.findEndpoint(db.sql, endpointId))
      const metadata = wholeMetadata(row)
      return { metadata: keys ? pick(metadata, (key) => keys.includes(key)) : metadata, etag: etagFor(row) }
    },

    async readKey(ctx, endpointId, key) {
      const metadata = wholeMetadata(permitted(ctx, endpointId, await store.findEndpoint(db.sql, endpointId)))
      if (!has(metadata, key)) throw NoMetadataKey({ key, endpointId })
      return metadata[key]
    },

    // What was read can be written back as it is: the connectivity keys in it are passed over.
    replace: (ctx, endpointId, metadata, ifMatch) =>
      changeAs(ctx, endpointId, ifMatch, () => withoutConnectivity(metadata)),

    patch: (ctx, endpointId, operations, ifMatch) =>
      changeAs(ctx, endpointId, ifMatch, (row) => {
        const taken = operations.flatMap(keysWritten).find((key) => connectivityKeys.includes(key))
        if (taken !== undefined) checkOwnKey(taken, 'body')
        return withoutConnectivity(patchedMetadata(wholeMetadata(row), operations))
      }),

    setKey(ctx, endpointId, key, value, ifMatch) {
      checkOwnKey(key, 'key')
      return changeAs(ctx, endpointId, ifMatch, ({ metadata }) => withKey(metadata, key, value))
    },

    deleteKey(ctx, endpointId, key, ifMatch) {
      if (connectivityKeys.includes(key)) checkOwnKey(key, 'key')
      return changeAs(ctx, endpointId, ifMatch, ({ metadata }) => {
        if (!has(metadata, key)) throw NoMetadataKey({ key, endpointId })
        return pick(metadata, (name) => name !== key)
      })
    },

    async keysOfApplication(ctx, name) {
      const missing = () => NoApplicationHere({ name })
      if (!(await applications.exists(ctx, { name }))) throw missing()
      const scope = 'application:endpoints-metadata-keys:read'
      authorizeOn(ctx, { read: 'application:read', scope }, onApplication(ctx.tenantId, name), missing)
      const found = await findKeys(db.sql, { tenantId: ctx.tenantId, applicationName: name })
      const ofVersions = Map.groupBy(found, ({ versionName }) => versionName)
      return Object.fromEntries(
        [...ofVersions].map(([versionName, rows]) => [
          versionName,
          rows.map(({ metadataKey }) => metadataKey).filter((key) => key !== ''),
        ]),
      )
    },

    change: (endpointId, change) =>
      db.tx(async (sql) => {
        const row = await store.lockEndpoint(sql, endpointId)
        if (!row) return false
        await save(sql, row, changed(row.metadata, change))
        return true
      }),

    async setConnectivity(given) {
      // The newest word on each endpoint.
      const newest = new Map<string, Connectivity>()
      for (const change of given)
        if ((newest.get(change.endpointId)?.at ?? change.at) <= change.at) newest.set(change.endpointId, change)
      if (newest.size === 0) return
      await db.tx(async (sql) => {
        const rows = await store.saveConnectivity(sql, [...newest.values()])
        if (changes.heard())
          await changes.tell(
            sql,
            rows.map((row) => ({
              ...row,
              before: { versionName: row.versionName, metadata: { ...row.metadata, ...connectivityBefore(row) } },
              after: { versionName: row.versionName, metadata: wholeMetadata(row) },
            })),
          )
        const told = rows.flatMap((row) => {
          const { tenantId, applicationName, versionName, endpointId } = row
          const difference = differenceOf(connectivityBefore(row), connectivityOf(row))
          return difference ? [{ tenantId, applicationName, versionName, endpointId, ...difference }] : []
        })
        await bus.publishAll(sql, MetadataUpdated, told)
      })
    },
  }
}

const connectivityBefore = (row: store.ConnectivityRow) =>
  connectivityOf({ connected: row.wasConnected, connectivityTs: row.wasConnectivityTs })

/** The top-level keys that an operation of a patch changes, as far as it names one; the patch itself is checked later. */
function keysWritten(operation: unknown): string[] {
  const { op, path, from } = (operation ?? {}) as { op?: unknown; path?: unknown; from?: unknown }
  const pointers = op === 'test' ? [] : op === 'move' ? [path, from] : [path]
  return pointers
    .filter((pointer) => typeof pointer === 'string')
    .map((pointer) => pointer.split('/')[1])
    .filter((key) => key !== undefined)
}

function changed(metadata: Metadata, change: MetadataChange): Metadata {
  if ('remove' in change) {
    for (const key of change.remove) checkOwnKey(key)
    return pick(metadata, (key) => !change.remove.includes(key))
  }
  if ('merge' in change) {
    for (const key of Object.keys(change.merge)) checkOwnKey(key)
    return { ...metadata, ...change.merge }
  }
  const { keep, only, replace } = change
  const concerns = (key: string) => only?.includes(key) ?? true
  const kept = pick(metadata, (key) => !concerns(key) || (keep?.includes(key) ?? false))
  return { ...kept, ...pick(withoutConnectivity(replace), concerns) }
}
