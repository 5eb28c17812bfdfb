/** One process runs the server at a time. The others watch its heartbeat, and one of them takes over when it stops. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { LeaseRow } from '../store/server.ts'
import type { ServerData } from './data.ts'

export interface LeaseWatch {
  /** Looks at the lease; takes it if its holder is silent. Returns the host that has it, or `mine`. */
  look(data: Pick<ServerData, 'findLease' | 'takeLease'>): Promise<{ mine: true } | { mine: false; host: string }>
}

/** A holder without a heartbeat for this long is dead: with the looks every second, another takes over within 10 seconds. */
export const silentMs = 7000
/** After a longer pause between two looks the database was away, perhaps for the holder too, which gets its time anew. */
const gapMs = 3000

/** Watches with the own clock only, and only while the database answers: a restart of the database is no death of the holder. */
export function createLeaseWatch(
  { holder, host }: { holder: string; host: string },
  clock: () => number = monotonicMs,
): LeaseWatch {
  let seen: LeaseRow | undefined
  let sinceMs = 0
  let lookedMs = Number.NEGATIVE_INFINITY
  return {
    async look(data) {
      const row = await data.findLease()
      const nowMs = clock()
      const isSame = row !== undefined && seen?.holder === row.holder && seen.beat === row.beat
      if (!isSame || nowMs - lookedMs > gapMs) sinceMs = nowMs
      seen = row
      lookedMs = nowMs
      const isFree = row === undefined || row.holder === '' || nowMs - sinceMs >= silentMs
      if (isFree && (await data.takeLease({ holder, host, seen: row }))) return { mine: true }
      return { mine: false, host: row?.host ?? 'another host' }
    },
  }
}
