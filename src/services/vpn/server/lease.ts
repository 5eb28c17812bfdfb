/** One process runs the server at a time. The others watch its heartbeat, and one of them takes over when it stops. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { LeaseRow } from '../store/server.ts'
import type { ServerData } from './data.ts'

export interface LeaseWatch {
  /** Reads the lease, and takes it if its holder is silent. Returns the host that has it, unless this process is the holder. */
  check(
    data: Pick<ServerData, 'findLease' | 'takeLease'>,
  ): Promise<{ isHolder: true } | { isHolder: false; host: string }>
}

/** A holder without a heartbeat for this long counts as dead. The lease is read every second, so another process takes over within 10 seconds. */
export const silentMs = 7000
/** After a longer pause between two reads the database was unreachable, perhaps for the holder too. The time without a heartbeat is then measured from the start again. */
const gapMs = 3000

/** Measures silence by this process's own clock, and only while the database answers, so that a restart of the database does not count as the holder's death. */
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
