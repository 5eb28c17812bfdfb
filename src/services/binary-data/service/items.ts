/** What people do with files and blobs: find, open, delete. */
import type { Readable } from 'node:stream'
import type { Blobs, ByteRange } from '../../../kernel/blobs/blobs.ts'
import { authorizeOn, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { endpointResource } from '../../register/contract.ts'
import { ContentLost, NoBlob, NoFile, NoLastBlob } from '../errors.ts'
import * as store from '../store/items.ts'
import type { Leavings } from './leavings.ts'
import { createTrouble } from './trouble.ts'

export type { Item } from '../store/items.ts'

/** Where an item is: a file by its name, a blob by its id, or the newest blob. */
export type Place = { appName: string; endpointId: string } & (
  | { filename: string }
  | { blobId: string }
  | { last: true }
)

export interface ItemRules {
  find(ctx: Ctx, place: Place): Promise<store.Item>
  /**
   * The item and its content as of one moment: `choose` says which part of it is wanted, undefined is none at all. A file that
   * is overwritten meanwhile is asked for once more.
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
  { blobs, leavings }: { blobs: Blobs; leavings: Leavings },
): ItemRules {
  const trouble = createTrouble(log)
  const look = (place: Place) => {
    if ('filename' in place) return store.findFile(db.sql, place.endpointId, place.filename)
    if ('blobId' in place) return store.findBlob(db.sql, place.endpointId, place.blobId)
    return store.findLastBlob(db.sql, place.endpointId)
  }

  /** An item that is missing, that the caller may not see, or that is of another application is the same 404. */
  async function permitted(ctx: Ctx, place: Place, scope: string): Promise<store.Item> {
    const missing = () => missingAt(place)
    const item = await look(place)
    if (item?.applicationName !== place.appName) throw missing()
    authorizeOn(ctx, { read, scope }, endpointResource(item), missing)
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
        const content = await blobs.read(item.contentKey, isAll ? undefined : range).catch(trouble)
        if (content) return { item, content }
        if (attempt < attemptsMax) continue
        log.error({ contentKey: item.contentKey, endpointId: item.endpointId, itemId: item.id }, 'a content is lost')
        throw ContentLost()
      }
    },

    async delete(ctx, place) {
      const item = await permitted(ctx, place, 'endpoint:update')
      await db.tx(async (sql) => {
        const gone = await store.deleteItem(sql, item)
        if (!gone) throw missingAt(place)
        await leavings.leave(sql, [gone.contentKey])
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
