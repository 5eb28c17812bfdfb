/** Ensures that all nodes use the same blob store. A node that has another local folder does not start. */
import type { Blobs } from '../../../kernel/blobs/blobs.ts'
import { readMark, writeMark } from '../../../kernel/blobs/mark.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import * as store from '../store/uploads.ts'

type Deps = Pick<Kit, 'db' | 'members' | 'newId'> & { platform: Pick<Kit['platform'], 'blobs'> }

/**
 * Writes the same mark to the folder and to the database, unless both already have it. If other nodes are running, the folder must have the
 * mark of the database. If no other node is running, the folder may be empty.
 */
export async function claimBlobStore({ db, members, newId, platform }: Deps, blobs: Blobs) {
  const { directory, s3 } = platform.blobs
  if (s3) return
  await members.refresh()
  await db.tx(async (sql) => {
    await store.lockMark(sql)
    const markInDatabase = await store.findMark(sql)
    const markInStore = await readMark(blobs)
    if (markInDatabase !== undefined && markInDatabase === markInStore) return
    if (markInDatabase !== undefined && members.others().length > 0)
      throw new Error(
        `Other nodes use this database, and their blobs are not in ${directory}: set WAYPOST_S3_URL on all nodes, or mount one ` +
          'shared folder there on each of them',
      )
    // The folder belongs to another database. The job `binary-data.compare` reports this and removes nothing.
    if (markInStore !== undefined) return
    // The mark is stored outside of the transaction, so that a crash never leaves a mark in the folder that the database does not have.
    await writeMark(blobs, await store.insertMarkIfAbsent(db.sql, newId()))
  })
}
