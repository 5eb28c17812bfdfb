/** Counts uplinks of devices in memory. Every second, writes the counts to the database, and marks the rows of stored uplinks. */
import type { Kit } from '../../../kernel/define-service.ts'
import { statisticsNotWritten } from '../log-messages.ts'
import { addCounts, type Counts, markStored, type UplinkKey } from '../store/uplinks.ts'

export type Outcome = 'stored' | 'duplicates' | 'dropped'

export interface Statistics {
  received(deviceIntegrationId: number, at: Date): void
  count(deviceIntegrationId: number, outcome: Outcome): void
  failed(deviceIntegrationId: number, error: string): void
  /** Remembers that the uplink was stored or dropped, until the row of the uplink is marked. */
  finished(uplink: UplinkKey): void
  isFinished(uplink: UplinkKey): boolean
  /** Writes all pending records. */
  flush(): Promise<void>
  stop(): Promise<void>
}

const flushMs = 1000
const errorLength = 1000
/** Maximum number of rows that one statement writes. */
const rowsMax = 5000
/**
 * Maximum number of pending counts and marks. While the database is unreachable, further counts and marks are dropped. If an uplink without
 * a mark arrives again, its sample is written again with the same time, so that there is still only one point.
 */
const pendingMax = 200_000

export const uplinkKey = ({ deviceIntegrationId, sessionKey, fCnt }: UplinkKey) =>
  `${deviceIntegrationId} ${fCnt} ${sessionKey}`

export function createStatistics({ db, log, now }: Pick<Kit, 'db' | 'log' | 'now'>): Statistics {
  const counts = new Map<number, Counts>()
  const marks = new Map<string, UplinkKey>()
  let running: Promise<void> | undefined
  const timer = setInterval(() => void flush(), flushMs).unref()

  function countsOf(deviceIntegrationId: number): Counts {
    let known = counts.get(deviceIntegrationId)
    if (!known) {
      known = {
        ...{ deviceIntegrationId, received: 0, stored: 0, duplicates: 0, dropped: 0 },
        ...{ lastUplinkAt: null, lastError: null, lastErrorAt: null },
      }
      if (counts.size < pendingMax) counts.set(deviceIntegrationId, known)
    }
    return known
  }

  /** Adds counts that could not be written to the counts since then. Of two times or errors, the newer one is kept. */
  function restore(failed: Counts[]) {
    for (const old of failed) {
      const known = countsOf(old.deviceIntegrationId)
      for (const field of ['received', 'stored', 'duplicates', 'dropped'] as const) known[field] += old[field]
      known.lastUplinkAt ??= old.lastUplinkAt
      known.lastError ??= old.lastError
      known.lastErrorAt ??= old.lastErrorAt
    }
  }

  async function write() {
    while (counts.size > 0 || marks.size > 0) {
      const someCounts = [...counts.values()].slice(0, rowsMax)
      const someMarks = [...marks].slice(0, rowsMax)
      for (const { deviceIntegrationId } of someCounts) counts.delete(deviceIntegrationId)
      try {
        if (someCounts.length > 0) await addCounts(db.sql, someCounts)
      } catch (error) {
        restore(someCounts)
        throw error
      }
      if (someMarks.length > 0)
        await markStored(
          db.sql,
          someMarks.map(([, uplink]) => uplink),
        )
      for (const [key] of someMarks) marks.delete(key)
    }
  }

  function flush(): Promise<void> {
    running ??= write()
      .catch((error) => statisticsNotWritten(log, { err: error }))
      .finally(() => {
        running = undefined
      })
    return running
  }

  return {
    received(id, at) {
      const known = countsOf(id)
      known.received++
      if (known.lastUplinkAt === null || at > known.lastUplinkAt) known.lastUplinkAt = at
    },
    count: (id, outcome) => void countsOf(id)[outcome]++,
    failed(id, error) {
      const known = countsOf(id)
      known.lastError = error.slice(0, errorLength).replaceAll('\0', '').toWellFormed()
      known.lastErrorAt = now()
    },
    finished(uplink) {
      if (marks.size < pendingMax) marks.set(uplinkKey(uplink), uplink)
    },
    isFinished: (uplink) => marks.has(uplinkKey(uplink)),
    async flush() {
      await running
      await flush()
    },
    async stop() {
      clearInterval(timer)
      await running
      await flush()
    },
  }
}
