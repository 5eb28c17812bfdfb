/**
 * Contents that no item names. A deletion notes them in its own transaction and they are removed after it, so that a crash
 * leaves a content without a row, never a row without a content.
 */
import type { Blobs } from '../../../kernel/blobs/blobs.ts'
import { markKey, readMark, writeMark } from '../../../kernel/blobs/mark.ts'
import { mayRemove } from '../../../kernel/blobs/removal-lock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import * as store from '../store/uploads.ts'

export interface Leavings {
  /** With this transaction; removed soon after its commit. */
  leave(sql: Sql, contentKeys: string[]): Promise<void>
  /** What died in the middle of an upload, expired tokens, and what could not be removed before. */
  sweep(sql: Sql): Promise<void>
  /** Compares the whole store with the rows, as a job. */
  compare(sql: Sql): Promise<void>
  stop(): Promise<void>
}

const atOnce = 50
const comparedAtOnce = 500
const deadAfterMs = 3_600_000
const retryMs = 300_000
const CompareContents = defineJob<Record<never, never>>('binary-data.compare', {
  timeoutSeconds: 24 * 3600,
  parallel: 1,
})

export function createLeavings({ db, jobs, log, now, newId }: Kit, blobs: Blobs): Leavings {
  const ago = (ms: number) => new Date(now().getTime() - ms)
  let working: Promise<void> | undefined
  let again = false
  let stopped = false

  /** False when there was nothing to do, or a backup needs what is there: then the sweep comes back to it. */
  const removeSome = () =>
    db.tx(async (sql) => {
      const keys = await store.takeLeavings(sql, now(), atOnce)
      if (keys.length === 0 || !(await mayRemove(sql))) return false
      const failed: string[] = []
      for (const key of keys)
        try {
          await blobs.remove(key)
        } catch (error) {
          failed.push(key)
          log.warn({ err: error, contentKey: key }, 'a content could not be removed and will be tried again')
        }
      await store.deleteLeavings(
        sql,
        keys.filter((key) => !failed.includes(key)),
      )
      if (failed.length > 0) await store.postponeLeavings(sql, failed, new Date(now().getTime() + retryMs))
      return true
    })

  async function work() {
    do {
      again = false
      try {
        while (!stopped && (await removeSome()));
      } catch (error) {
        log.warn({ err: error }, 'contents could not be removed and will be tried again')
      }
    } while (again && !stopped)
    working = undefined
  }

  /** One at a time: whoever comes meanwhile has it looked at once more. */
  function begin() {
    if (stopped) return
    again = true
    working ??= work()
  }

  /** Beside another database, every content of its owner would look left over. */
  async function isOurs(): Promise<boolean> {
    const mark = await store.storeMark(db.sql, newId())
    const found = await readMark(blobs)
    if (found !== undefined) return found === mark
    await writeMark(blobs, mark)
    return true
  }

  jobs.handle(CompareContents, async () => {
    if (!(await isOurs())) {
      log.error('the blob store belongs to another database: what nobody names there is left alone')
      return
    }
    const keys: string[] = []
    const look = async () => {
      const count = await store.insertUnknown(db.sql, keys.splice(0), now())
      if (count > 0) log.warn({ count }, 'contents that belong to nothing are removed')
    }
    for await (const { key, changedAt } of blobs.keys()) {
      if (stopped) return
      if (key === markKey || changedAt > ago(deadAfterMs)) continue
      keys.push(key)
      if (keys.length >= comparedAtOnce) await look()
    }
    await look()
    begin()
  })

  return {
    async leave(sql, contentKeys) {
      if (contentKeys.length === 0) return
      await store.insertLeavings(sql, contentKeys, now())
      db.afterCommit(sql, begin)
    },
    async sweep(sql) {
      await store.giveUpUploads(sql, { untouchedSince: ago(deadAfterMs), at: now() })
      await store.deleteExpiredTokens(sql, now())
      db.afterCommit(sql, begin)
    },
    compare: (sql) => jobs.send(sql, CompareContents, {}),
    async stop() {
      stopped = true
      await working
    },
  }
}
