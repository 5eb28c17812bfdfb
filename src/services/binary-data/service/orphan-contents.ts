/**
 * Removes orphans, which are contents without an item. The transaction that deletes an item records its content as an orphan, and the
 * content is removed after the commit. A crash can therefore leave a content without an item, but never an item without its content.
 */
import type { Blobs } from '../../../kernel/blobs/blobs.ts'
import { markKey, readMark, writeMark } from '../../../kernel/blobs/mark.ts'
import { mayRemove } from '../../../kernel/blobs/removal-lock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { foreignBlobStore, orphansFound, removingContentFailed, removingOrphansFailed } from '../log-messages.ts'
import * as store from '../store/uploads.ts'

export interface OrphanContents {
  /** Records orphans in this transaction. They are removed soon after the commit. */
  record(sql: Sql, contentKeys: string[]): Promise<void>
  /** Removes interrupted uploads, expired tokens, and orphans whose removal failed before. */
  sweep(sql: Sql): Promise<void>
  /** Enqueues a job that compares the whole blob store with the database. */
  compare(sql: Sql): Promise<void>
  stop(): Promise<void>
}

const contentsPerTransaction = 50
const keysPerStatement = 500
const uploadIdleMaxMs = 3_600_000
const retryMs = 300_000
const CompareContents = defineJob<Record<never, never>>('binary-data.compare', {
  timeoutSeconds: 24 * 3600,
  parallel: 1,
})

export function createOrphanContents({ db, jobs, log, now, newId }: Kit, blobs: Blobs): OrphanContents {
  const ago = (ms: number) => new Date(now().getTime() - ms)
  let running: Promise<void> | undefined
  let isRequestedAgain = false
  let stopped = false

  /**
   * Removes some orphans. Returns false if there are no orphans. Also returns false while a backup is running; the next sweep then
   * continues.
   */
  const removeSome = () =>
    db.tx(async (sql) => {
      const keys = await store.lockOrphans(sql, now(), contentsPerTransaction)
      if (keys.length === 0 || !(await mayRemove(sql))) return false
      const failed: string[] = []
      for (const key of keys)
        try {
          await blobs.remove(key)
        } catch (error) {
          failed.push(key)
          removingContentFailed(log, { err: error, contentKey: key })
        }
      await store.deleteOrphans(
        sql,
        keys.filter((key) => !failed.includes(key)),
      )
      if (failed.length > 0) await store.postponeOrphans(sql, failed, new Date(now().getTime() + retryMs))
      return true
    })

  async function removeAll() {
    do {
      isRequestedAgain = false
      try {
        while (!stopped && (await removeSome()));
      } catch (error) {
        removingOrphansFailed(log, { err: error })
      }
    } while (isRequestedAgain && !stopped)
    running = undefined
  }

  /** Starts the removal. If it is already running, it checks for orphans once more before it ends. */
  function startRemoval() {
    if (stopped) return
    isRequestedAgain = true
    running ??= removeAll()
  }

  /**
   * Returns whether the blob store has the mark of this database. A store without a mark gets this mark. In the store of another database,
   * all contents would look like orphans.
   */
  async function hasMarkOfDatabase(): Promise<boolean> {
    const mark = await store.insertMarkIfAbsent(db.sql, newId())
    const markInStore = await readMark(blobs)
    if (markInStore !== undefined) return markInStore === mark
    await writeMark(blobs, mark)
    return true
  }

  jobs.handle(CompareContents, async () => {
    if (!(await hasMarkOfDatabase())) {
      foreignBlobStore(log)
      return
    }
    const keys: string[] = []
    const recordOrphans = async () => {
      const count = await store.insertOrphansAmong(db.sql, keys.splice(0), now())
      if (count > 0) orphansFound(log, { count })
    }
    for await (const { key, changedAt } of blobs.keys()) {
      if (stopped) return
      if (key === markKey || changedAt > ago(uploadIdleMaxMs)) continue
      keys.push(key)
      if (keys.length >= keysPerStatement) await recordOrphans()
    }
    await recordOrphans()
    startRemoval()
  })

  return {
    async record(sql, contentKeys) {
      if (contentKeys.length === 0) return
      await store.insertOrphans(sql, contentKeys, now())
      db.afterCommit(sql, startRemoval)
    },
    async sweep(sql) {
      await store.giveUpUploads(sql, { untouchedSince: ago(uploadIdleMaxMs), at: now() })
      await store.deleteExpiredTokens(sql, now())
      db.afterCommit(sql, startRemoval)
    },
    compare: (sql) => jobs.send(sql, CompareContents, {}),
    async stop() {
      stopped = true
      await running
    },
  }
}
