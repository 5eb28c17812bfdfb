/** Finds, opens and deletes files and blobs for users. */
import type { Readable } from 'node:stream'
import type { Blobs, ByteRange } from '../../../kernel/blobs/blobs.ts'
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { endpointResource } from '../../register/contract.ts'
import { ContentLost, NoBlob, NoFile, NoLastBlob } from '../errors.ts'
import { contentMissing } from '../log-messages.ts'
import * as store from '../store/items.ts'
import type { OrphanContents } from './orphan-contents.ts'
import { createStoreFailure } from './store-failure.ts'

export type { Item } from '../store/items.ts'

/** Identifies an item: a file by its name, a blob by its id, or the newest blob. */
export type ItemAddress = { appName: string; endpointId: string } & (
  | { filename: string }
  | { blobId: string }
  | { last: true }
)

export interface ItemOperations {
  find(ctx: Ctx, address: ItemAddress): Promise<store.Item>
  /**
   * Opens an item and its content. `choose` returns the range to read, or undefined if no content is needed. If the file is overwritten
   * meanwhile, it retries, so that the item and the content always belong together.
   */
  open(
    ctx: Ctx,
    address: ItemAddress,
    choose: (item: store.Item) => ByteRange | undefined,
  ): Promise<{ item: store.Item; content: Readable | undefined }>
  delete(ctx: Ctx, address: ItemAddress): Promise<void>
}

const read = 'endpoint:read'
const attemptsMax = 5

export function createItemOperations(
  { db, log }: Kit,
  { blobs, orphans }: { blobs: Blobs; orphans: OrphanContents },
): ItemOperations {
  const storeFailure = createStoreFailure(log)
  const findItem = (address: ItemAddress) => {
    if ('filename' in address) return store.findFile(db.sql, address.endpointId, address.filename)
    if ('blobId' in address) return store.findBlob(db.sql, address.endpointId, address.blobId)
    return store.findLastBlob(db.sql, address.endpointId)
  }

  /** Returns the item. The 404 is the same if the item is missing, is not readable for the caller or belongs to another application. */
  async function requireItem(ctx: Ctx, address: ItemAddress, scope: string): Promise<store.Item> {
    const notFound = () => notFoundError(address)
    const item = await findItem(address)
    if (item?.applicationName !== address.appName) throw notFound()
    authorizeOrNotFound(ctx, { read, scope }, endpointResource(item), notFound)
    return item
  }

  return {
    find: (ctx, address) => requireItem(ctx, address, read),

    async open(ctx, address, choose) {
      for (let attempt = 1; ; attempt++) {
        const item = await requireItem(ctx, address, read)
        const range = choose(item)
        if (range === undefined) return { item, content: undefined }
        const isAll = range.first === 0 && range.last === item.size - 1
        const content = await blobs.read(item.contentKey, isAll ? undefined : range).catch(storeFailure)
        if (content) return { item, content }
        if (attempt < attemptsMax) continue
        contentMissing(log, { contentKey: item.contentKey, endpointId: item.endpointId, itemId: item.id })
        throw ContentLost()
      }
    },

    async delete(ctx, address) {
      const item = await requireItem(ctx, address, 'endpoint:update')
      await db.tx(async (sql) => {
        const deleted = await store.deleteItem(sql, item)
        if (!deleted) throw notFoundError(address)
        await orphans.record(sql, [deleted.contentKey])
        await store.addUsage(sql, deleted.tenantId, -deleted.size)
      })
    },
  }
}

const notFoundError = (address: ItemAddress) => {
  if ('filename' in address) return NoFile(address)
  if ('blobId' in address) return NoBlob(address)
  return NoLastBlob({ appName: address.appName, endpointId: address.endpointId })
}
