/**
 * Ensures that one process at a time runs the server. The other processes watch its heartbeat. When the heartbeat stops, one of the other
 * processes takes over.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { LeaseRow } from '../store/server.ts'
import type { ServerData } from './data.ts'

export interface LeaseWatch {
  /** Reads the lease, and takes it if its holder has stopped. Returns the host of the holder, unless this process is the holder. */
  check(
    data: Pick<ServerData, 'findLease' | 'takeLease'>,
  ): Promise<{ isHolder: true } | { isHolder: false; host: string }>
}

/**
 * After this time without a heartbeat, the holder counts as dead. The lease is read every second, so another process takes over within 10
 * seconds.
 */
export const silentMs = 7000
/**
 * Longest normal pause between two reads. A longer pause means that the database was unreachable, perhaps also for the holder. The
 * measurement of the time without a heartbeat then starts again.
 */
const gapMs = 3000

/**
 * Measures the time without a heartbeat by this process's own clock, and only while the database answers. A restart of the database
 * therefore does not count as the death of the holder.
 */
export function createLeaseWatch(
  { holder, host }: { holder: string; host: string },
  clock: () => number = monotonicMs,
): LeaseWatch {
  let seen: LeaseRow | undefined
  let sinceMs = 0
  let checkedMs = Number.NEGATIVE_INFINITY
  return {
    async check(data) {
      const row = await data.findLease()
      const nowMs = clock()
      const isSame = row !== undefined && seen?.holder === row.holder && seen.beat === row.beat
      if (!isSame || nowMs - checkedMs > gapMs) sinceMs = nowMs
      seen = row
      checkedMs = nowMs
      const isFree = row === undefined || row.holder === '' || nowMs - sinceMs >= silentMs
      if (isFree && (await data.takeLease({ holder, host, seen: row }))) return { isHolder: true }
      return { isHolder: false, host: row?.host ?? 'another host' }
    },
  }
}
