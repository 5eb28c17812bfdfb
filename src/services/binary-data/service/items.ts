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

/** Addresses an item: a file by its name, a blob by its id, or the newest blob. */
export type Place = { appName: string; endpointId: string } & (
  | { filename: string }
  | { blobId: string }
  | { last: true }
)

export interface ItemRules {
  find(ctx: Ctx, place: Place): Promise<store.Item>
  /**
   * Opens an item and its content. `choose` returns the range to read, or undefined for no content. Retries if the file is
   * overwritten meanwhile, so that item and content always belong together.
   */
  open(
    ctx: Ctx,
    place: Place,
    choose: (item: store.Item) => ByteRange | undefined,
  ): Promise<{ item: store.Item; content: Readable | undefined }>
  delete(ctx: Ctx, place: Place): Promise<void>
}

const read = 'endpoint:read'
const attemptsMax = 5

export function createItemRules(
  { db, log }: Kit,
  { blobs, orphans }: { blobs: Blobs; orphans: OrphanContents },
): ItemRules {
  const storeFailure = createStoreFailure(log)
  const look = (place: Place) => {
    if ('filename' in place) return store.findFile(db.sql, place.endpointId, place.filename)
    if ('blobId' in place) return store.findBlob(db.sql, place.endpointId, place.blobId)
    return store.findLastBlob(db.sql, place.endpointId)
  }

  /** Returns the item. It is the same 404 if it is missing, not readable or of another application. */
  async function permitted(ctx: Ctx, place: Place, scope: string): Promise<store.Item> {
    const missing = () => missingAt(place)
    const item = await look(place)
    if (item?.applicationName !== place.appName) throw missing()
    authorizeOrNotFound(ctx, { read, scope }, endpointResource(item), missing)
    return item
  }

  return {
    find: (ctx, place) => permitted(ctx, place, read),

    async open(ctx, place, choose) {
      for (let attempt = 1; ; attempt++) {
        const item = await permitted(ctx, place, read)
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

    async delete(ctx, place) {
      const item = await permitted(ctx, place, 'endpoint:update')
      await db.tx(async (sql) => {
        const gone = await store.deleteItem(sql, item)
        if (!gone) throw missingAt(place)
        await orphans.record(sql, [gone.contentKey])
        await store.addUsage(sql, gone.tenantId, -gone.size)
      })
    },
  }
}

const missingAt = (place: Place) => {
  if ('filename' in place) return NoFile(place)
  if ('blobId' in place) return NoBlob(place)
  return NoLastBlob({ appName: place.appName, endpointId: place.endpointId })
}
