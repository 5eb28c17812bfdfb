/**
 * Receives contents. The order of steps makes them durable: the upload is recorded, then the content is written and synced, then one
 * transaction makes it an item. After a failure, a file has its old content or does not exist, and a row names the incomplete content,
 * which the sweep removes.
 */
import { type Blobs, newBlobKey } from '../../../kernel/blobs/blobs.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import type { Tenants } from '../../tenants/contract.ts'
import { ChecksumMismatch, UploadRejected } from '../errors.ts'
import { discardingUploadFailed } from '../log-messages.ts'
import type { BinaryDataSettings } from '../settings.ts'
import * as items from '../store/items.ts'
import * as store from '../store/uploads.ts'
import { type Allowance, allowanceOf, createTally, measure, quotaExceeded, type Tally } from './allowance.ts'
import type { OrphanContents } from './orphan-contents.ts'
import { createStoreFailure } from './store-failure.ts'
import type { UploadTokenOperations } from './tokens.ts'

export interface Upload {
  token: string | undefined
  kind: items.Kind
  /** The name of a file, which identifies it. For a blob, it is an optional free text. */
  name: string | undefined
  content: AsyncIterable<Uint8Array>
  /** The length that the request announces, if any. */
  length?: number | undefined
  digest?: { header: string; sha256: string } | undefined
}

export interface UploadOperations {
  /** Receives an upload. Resolves when the content is durable and all callers can read it. */
  receive(upload: Upload): Promise<items.Item>
}

interface UploadParts {
  blobs: Blobs
  tokens: UploadTokenOperations
  orphans: OrphanContents
  tenants: Tenants
  /** Bytes of uploads that are not stored as items yet, because concurrent uploads must not exceed the quota together. */
  bytesByTenant: Tally
}

interface Deps extends UploadParts {
  kit: Pick<Kit<BinaryDataSettings>, 'db' | 'now' | 'newId' | 'log' | 'settings'>
  /** Counts the bytes that endpoints have sent. */
  receivedBytes(bytes: number): void
  /** Number of running uploads by endpoint. */
  uploadsByEndpoint: Tally
}

const perEndpointMax = 16
const retrySeconds = 5

export function createUploadOperations(kit: Kit<BinaryDataSettings>, parts: UploadParts): UploadOperations {
  const { metrics } = kit
  const uploadCounter = metrics.counter(
    'waypost_binary_data_uploads_total',
    'Number of uploads of endpoints, by outcome.',
    ['outcome'],
  )
  const byteCounter = metrics.counter(
    'waypost_binary_data_upload_bytes_total',
    'Number of bytes that endpoints have uploaded.',
  )
  const deps: Deps = {
    ...parts,
    kit,
    uploadsByEndpoint: createTally(),
    receivedBytes: (count) => byteCounter.inc(count),
  }
  return {
    async receive(upload) {
      try {
        const item = await receive(deps, upload)
        uploadCounter.inc({ outcome: 'success' })
        return item
      } catch (error) {
        uploadCounter.inc({ outcome: 'failure' })
        throw error
      }
    },
  }
}

async function receive(deps: Deps, upload: Upload): Promise<items.Item> {
  const { kit, tokens, tenants, uploadsByEndpoint, bytesByTenant } = deps
  const { kind, name } = upload
  const token = await tokens.requireValid(upload.token)
  const { tenantId, endpointId } = token
  const { quotaBytes } = kit.settings
  const allowance = await allowanceOf({ db: kit.db, tenants, quotaBytes }, tenantId, async () => {
    const old = kind === 'file' ? await items.findFile(kit.db.sql, endpointId, name!) : undefined
    return old?.tenantId === tenantId ? old.size : 0
  })
  if ((upload.length ?? 0) + bytesByTenant.get(tenantId) > allowance.remaining) throw quotaExceeded(allowance)
  if (uploadsByEndpoint.get(endpointId) >= perEndpointMax)
    throw TooManyRequests({ seconds: retrySeconds }, { headers: { 'retry-after': String(retrySeconds) } })
  uploadsByEndpoint.add(endpointId, 1)
  try {
    return await writeItem(deps, upload, token, allowance)
  } finally {
    uploadsByEndpoint.add(endpointId, -1)
  }
}

async function writeItem(deps: Deps, upload: Upload, token: store.TokenRow, allowance: Allowance): Promise<items.Item> {
  const { kit, blobs, bytesByTenant, receivedBytes } = deps
  const { db, now, newId, log } = kit
  const contentKey = newBlobKey()
  const isRecorded = await store.beginUpload(db.sql, { tokenHash: token.tokenHash, contentKey, at: now() })
  if (!isRecorded) throw UploadRejected()
  const { tenantId, applicationName, endpointId } = token
  const touch = () => store.touchUpload(db.sql, contentKey, now())
  const measured = measure(upload.content, { tenantId, allowance, bytesByTenant, received: receivedBytes, touch })
  try {
    await blobs.write(contentKey, measured.content).catch(createStoreFailure(log))
    const { size, checksum } = measured.result()
    if (upload.digest && upload.digest.sha256 !== checksum) throw ChecksumMismatch({ header: upload.digest.header })
    const id = newId()
    const at = now()
    const dates = { createdDate: at, updatedDate: at }
    const owner = { endpointId, tenantId, applicationName }
    const newItem = { ...owner, id, kind: upload.kind, name: upload.name ?? id, contentKey, size, checksum, ...dates }
    const item = await db.tx((sql) => storeItem(deps, sql, newItem, allowance))
    if (!item) throw UploadRejected()
    return item
  } catch (error) {
    await discardUpload(kit, deps.orphans, contentKey)
    throw error
  } finally {
    bytesByTenant.add(tenantId, -measured.size())
  }
}

/**
 * Returns whether both items belong to the same application. A file of a former owner remains for a moment when its endpoint was
 * unregistered and another tenant registers the same id; the former owner must not be able to read the new upload.
 */
const isOfSameOwner = (a: items.Item, b: items.Item) =>
  a.tenantId === b.tenantId && a.applicationName === b.applicationName

/** Stores the upload as an item. Returns undefined if the endpoint was deleted or the upload was given up. */
async function storeItem(
  { orphans }: Deps,
  sql: Sql,
  newItem: items.Item,
  allowance: Allowance,
): Promise<items.Item | undefined> {
  if (!(await store.endUpload(sql, newItem.contentKey))) return undefined
  let item = newItem
  let addedBytes = newItem.size
  if (newItem.kind === 'file') {
    await items.lockFileName(sql, newItem.endpointId, newItem.name)
    const old = await items.findFile(sql, newItem.endpointId, newItem.name)
    if (old && isOfSameOwner(old, newItem)) {
      const { contentKey, size, checksum, updatedDate } = newItem
      item = { ...old, contentKey, size, checksum, updatedDate }
      addedBytes -= old.size
      await items.replaceContent(sql, old, { contentKey, size, checksum, updatedDate })
      await orphans.record(sql, [old.contentKey])
    } else if (old && (await items.deleteItem(sql, old))) {
      await orphans.record(sql, [old.contentKey])
      await items.addUsage(sql, old.tenantId, -old.size)
    }
  }
  if (item === newItem) await items.insertItem(sql, newItem)
  const used = await items.addUsage(sql, newItem.tenantId, addedBytes)
  if (used > allowance.quota && addedBytes > 0) throw quotaExceeded(allowance)
  return item
}

/** Removes the content of a failed upload. If that fails too, the sweep removes it an hour later. */
export async function discardUpload({ db, log }: Pick<Kit, 'db' | 'log'>, orphans: OrphanContents, contentKey: string) {
  try {
    await db.tx(async (sql) => {
      if (await store.dropUpload(sql, contentKey)) await orphans.record(sql, [contentKey])
    })
  } catch (error) {
    discardingUploadFailed(log, { err: error, contentKey })
  }
}
