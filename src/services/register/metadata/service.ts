import type { Ctx } from '../../../kernel/contract.ts'
import { authorizeOn } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import type { Applications } from '../../applications/contract.ts'
import { onApplication, permitted, update } from '../access.ts'
import type { Connectivity, EndpointRef, MetadataChange } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { findKeys } from '../endpoints/store/counts.ts'
import * as store from '../endpoints/store/endpoints.ts'
import { NoApplicationHere, NoMetadataKey } from '../errors.ts'
import { MetadataUpdated } from '../events.ts'
import { type ConnectivityKeys, type FollowKeys, reservedIn } from './connectivity-keys.ts'
import {
  checkKey,
  checkKeyCount,
  checkMetadata,
  checkOwnKey,
  differenceOf,
  has,
  type IsReserved,
  type Metadata,
  patchedMetadata,
  pick,
  wholeMetadata,
  withKey,
  without,
} from './metadata.ts'

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
  {
    applications,
    changes,
    connectivityKeys,
  }: { applications: Applications; changes: Changes; connectivityKeys: FollowKeys },
): MetadataRules {
  /** Writes what differs and tells it; the revision that is then the current one. `own`: without what is the platform's. */
  async function save(sql: Sql, row: store.EndpointRow, own: Metadata, isReserved: IsReserved): Promise<number> {
    const { endpointId, tenantId, applicationName, versionName, seq } = row
    checkMetadata(own, isReserved)
    const metadata = { ...own, ...pick(row.metadata, isReserved) }
    const difference = differenceOf(row.metadata, metadata)
    if (!difference) return row.metadataRevision
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

  /**
   * The endpoint is held while `work` runs. Which keys are reserved depends on its version: where that is not remembered it is
   * asked for beside the transaction, which is then begun anew.
   */
  async function holding<T>(
    endpointId: string,
    work: (sql: Sql, row: store.EndpointRow | undefined, isReserved: IsReserved) => Promise<T>,
  ): Promise<T> {
    // However often configurations change meanwhile, an answer is taken: nobody is kept waiting by others.
    let known: { versionName: string; keys: ConnectivityKeys | undefined } | undefined
    for (;;) {
      const done = await db.tx(async (sql) => {
        const row = await store.lockEndpoint(sql, endpointId)
        const keys = row && (known?.versionName === row.versionName ? known.keys : connectivityKeys(row))
        if (keys instanceof Promise) return { asked: row as EndpointRef }
        return { answer: await work(sql, row, reservedIn(keys, row?.connectivityKeys)) }
      })
      if ('answer' in done) return done.answer as T
      known = { versionName: done.asked.versionName, keys: await connectivityKeys(done.asked) }
    }
  }

  const changeAs = (
    ctx: Ctx,
    endpointId: string,
    ifMatch: string | undefined,
    make: (row: store.EndpointRow, isReserved: IsReserved) => Metadata,
  ) =>
    holding(endpointId, async (sql, found, isReserved) => {
      const row = permitted(ctx, endpointId, found, update)
      checkIfMatch(ifMatch, etagFor(row))
      return etagFor(row, await save(sql, row, make(row, isReserved), isReserved))
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

    // What was read can be written back as it is: the platform's keys in it are passed over.
    replace: (ctx, endpointId, metadata, ifMatch) =>
      changeAs(ctx, endpointId, ifMatch, (_, isReserved) => {
        checkKeyCount(metadata)
        return without(metadata, isReserved)
      }),

    patch: (ctx, endpointId, operations, ifMatch) =>
      changeAs(ctx, endpointId, ifMatch, (row, isReserved) => {
        const taken = operations.flatMap(keysWritten).find(isReserved)
        if (taken !== undefined) checkOwnKey(taken, isReserved, 'body')
        const whole = patchedMetadata(wholeMetadata(row), operations)
        checkKeyCount(whole)
        return without(whole, isReserved)
      }),

    setKey(ctx, endpointId, key, value, ifMatch) {
      checkOwnKey(key, reservedIn(), 'key')
      return changeAs(ctx, endpointId, ifMatch, ({ metadata }, isReserved) => {
        checkOwnKey(key, isReserved, 'key')
        return without(withKey(metadata, key, value), isReserved)
      })
    },

    deleteKey(ctx, endpointId, key, ifMatch) {
      if (reservedIn()(key)) checkOwnKey(key, reservedIn(), 'key')
      return changeAs(ctx, endpointId, ifMatch, ({ metadata }, isReserved) => {
        if (isReserved(key)) checkOwnKey(key, isReserved, 'key')
        if (!has(metadata, key)) throw NoMetadataKey({ key, endpointId })
        return without(
          pick(metadata, (name) => name !== key),
          isReserved,
        )
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
      holding(endpointId, async (sql, row, isReserved) => {
        if (!row) return false
        await save(sql, row, changed(without(row.metadata, isReserved), change, isReserved), isReserved)
        return true
      }),

    async setConnectivity(given) {
      // The last change of each endpoint.
      const newest = new Map<string, Connectivity>()
      for (const change of given)
        if ((newest.get(change.endpointId)?.number ?? 0) <= change.number) newest.set(change.endpointId, change)
      if (newest.size === 0) return
      const refs = await store.findRefs(db.sql, [...newest.keys()])
      const named: store.ConnectivityChange[] = []
      for (const ref of refs) named.push({ ...newest.get(ref.endpointId)!, keys: await connectivityKeys(ref) })
      if (named.length === 0) return
      await db.tx(async (sql) => {
        const rows = await store.saveConnectivity(sql, named)
        if (changes.heard())
          await changes.tell(
            sql,
            rows.map((row) => ({
              ...row,
              before: { versionName: row.versionName, metadata: before(row) },
              after: { versionName: row.versionName, metadata: wholeMetadata(row) },
            })),
          )
        const told = rows.flatMap((row) => {
          const { tenantId, applicationName, versionName, endpointId } = row
          // Where the metadata is as it was, only the columns can differ.
          const after = row.wasMetadata ? row : { ...row, metadata: {} }
          const difference = differenceOf(before(after), wholeMetadata(after))
          return difference ? [{ tenantId, applicationName, versionName, endpointId, ...difference }] : []
        })
        // Connects and disconnects of devices are no messages to every node: other nodes learn of them when they read.
        await bus.publishAll(sql, MetadataUpdated, told, { thisNodeOnly: true })
      })
    },
  }
}

const before = ({ metadata, wasMetadata, wasConnected, wasConnectivityTs }: store.ConnectivityRow) =>
  wholeMetadata({ metadata: wasMetadata ?? metadata, connected: wasConnected, connectivityTs: wasConnectivityTs })

/** The top-level keys that an operation of a patch changes, as far as it names one; the patch itself is checked later. */
function keysWritten(operation: unknown): string[] {
  const { op, path, from } = (operation ?? {}) as { op?: unknown; path?: unknown; from?: unknown }
  const pointers = op === 'test' ? [] : op === 'move' ? [path, from] : [path]
  return pointers
    .filter((pointer) => typeof pointer === 'string')
    .map((pointer) => pointer.split('/')[1])
    .filter((key) => key !== undefined)
}

function changed(metadata: Metadata, change: MetadataChange, isReserved: IsReserved): Metadata {
  if ('remove' in change) {
    for (const key of change.remove) checkOwnKey(key, isReserved)
    return pick(metadata, (key) => !change.remove.includes(key))
  }
  checkKeyCount('merge' in change ? change.merge : change.replace)
  if ('merge' in change) {
    for (const key of Object.keys(change.merge)) checkOwnKey(key, isReserved)
    return { ...metadata, ...change.merge }
  }
  const { keep, only, replace } = change
  const concerns = (key: string) => only?.includes(key) ?? true
  const kept = pick(metadata, (key) => !concerns(key) || (keep?.includes(key) ?? false))
  return { ...kept, ...pick(without(replace, isReserved), concerns) }
}
