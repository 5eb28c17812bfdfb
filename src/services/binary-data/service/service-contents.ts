/** Stores contents of other services. The order of writes is the same as in uploads.ts. */
import { type Blobs, newBlobKey } from '../../../kernel/blobs/blobs.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Tenants } from '../../tenants/contract.ts'
import type { NewContent, ServiceContents, StoredContent } from '../contract.ts'
import { ChecksumMismatch, UploadGivenUp } from '../errors.ts'
import type { BinaryDataSettings } from '../settings.ts'
import * as items from '../store/items.ts'
import * as store from '../store/service-contents.ts'
import { endUpload, touchUpload } from '../store/uploads.ts'
import { type Allowance, allowanceOf, measure, quotaExceeded, type Tally } from './allowance.ts'
import type { OrphanContents } from './orphan-contents.ts'
import { createStoreFailure } from './store-failure.ts'
import { discardUpload } from './uploads.ts'

interface Deps {
  kit: Pick<Kit<BinaryDataSettings>, 'db' | 'now' | 'log' | 'settings'>
  blobs: Blobs
  orphans: OrphanContents
  tenants: Tenants
  /** Bytes of running uploads that are not stored as items yet. */
  bytesByTenant: Tally
}

export function createServiceContents(deps: Deps): ServiceContents {
  const { kit, blobs, orphans } = deps
  const storeFailure = createStoreFailure(kit.log)
  return {
    write: (content, keep) => write(deps, content, keep),
    read: (contentKey, range) => blobs.read(contentKey, range).catch(storeFailure),
    async release(sql, tenantId, contentKeys) {
      const released = await store.deleteServiceContents(sql, tenantId, contentKeys)
      if (released.length === 0) return
      await orphans.record(
        sql,
        released.map(({ contentKey }) => contentKey),
      )
      await items.addUsage(sql, tenantId, -released.reduce((sum, { size }) => sum + size, 0))
    },
  }
}

async function write<T>(
  deps: Deps,
  newContent: NewContent,
  keep: (sql: Sql, stored: StoredContent) => Promise<T>,
): Promise<T> {
  const { kit, blobs, orphans, tenants, bytesByTenant } = deps
  const { db, now, log, settings } = kit
  const { tenantId, service, length = 0, digest, replacedBytes = 0 } = newContent
  const { quotaBytes } = settings
  const allowance = await allowanceOf({ db, tenants, quotaBytes }, tenantId, async () => replacedBytes)
  if (length + bytesByTenant.get(tenantId) > allowance.remaining) throw quotaExceeded(allowance)
  const contentKey = newBlobKey()
  await store.beginServiceUpload(db.sql, { contentKey, tenantId, at: now() })
  const touch = () => touchUpload(db.sql, contentKey, now())
  const measured = measure(newContent.content, { tenantId, allowance, bytesByTenant, received: () => {}, touch })
  try {
    await blobs.write(contentKey, measured.content).catch(createStoreFailure(log))
    const { size, checksum } = measured.result()
    if (digest && digest.sha256 !== checksum) throw ChecksumMismatch({ header: digest.header })
    return await db.tx(async (sql) => {
      if (!(await endUpload(sql, contentKey))) throw UploadGivenUp()
      await store.insertServiceContent(sql, { tenantId, contentKey, service, size, checksum })
      const result = await keep(sql, { contentKey, size, checksum })
      await count(sql, tenantId, allowance, { size, grown: size - replacedBytes })
      return result
    })
  } catch (error) {
    await discardUpload(kit, orphans, contentKey)
    throw error
  } finally {
    bytesByTenant.add(tenantId, -measured.size())
  }
}

async function count(sql: Sql, tenantId: string, allowance: Allowance, content: { size: number; grown: number }) {
  const used = await items.addUsage(sql, tenantId, content.size)
  if (used > allowance.quota && content.grown > 0) throw quotaExceeded(allowance)
}
