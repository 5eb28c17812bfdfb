/** Packs records in a thread of lower priority; pack-thread.ts starts it. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { type PackSource, packRecords } from './pack-records.ts'

/**
 * Lowers the priority of this thread. Only Linux has priorities of threads. On other systems, or without the permission, nothing changes.
 */
function lowerPriority() {
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').pop())
    setPriority(threadId, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {} // The file does not exist on other operating systems.
}

lowerPriority()
parentPort!.on('message', ({ id, sources }: { id: number; sources: PackSource[] }) => {
  try {
    parentPort!.postMessage({ id, result: packRecords(sources) })
  } catch (error) {
    parentPort!.postMessage({ id, problem: String((error as Error).stack ?? error) })
  }
})
