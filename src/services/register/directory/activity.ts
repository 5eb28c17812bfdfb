/** Collects when endpoints were active, and stores it in batches. A crash loses the last seconds of it. */
import type { Db } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { storingActivityFailed } from '../log-messages.ts'
import { saveActivity } from './store/documents.ts'

export interface Activity {
  /** Returns at once. Callers report an endpoint at most once a minute. */
  note(endpointId: string, at: Date): void
  flush(): Promise<void>
  stop(): Promise<void>
}

const flushMs = 5000
const rowsPerStatement = 1000
/** Beyond this number, endpoints are not collected until the next flush. */
const endpointsMax = 200_000

export function createActivity({ db, log }: Pick<Kit, 'db' | 'log'>): Activity {
  let collected = new Map<string, Date>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    const batch = [...collected].map(([endpointId, at]) => ({ endpointId, at }))
    collected = new Map()
    running = running.then(() => save(db, batch)).catch((err) => storingActivityFailed(log, { err }))
    await running
  }

  return {
    note(endpointId, at) {
      if (collected.size < endpointsMax || collected.has(endpointId)) collected.set(endpointId, at)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    flush,
    stop: flush,
  }
}

async function save(db: Db, batch: { endpointId: string; at: Date }[]) {
  for (let start = 0; start < batch.length; start += rowsPerStatement)
    await saveActivity(db.sql, batch.slice(start, start + rowsPerStatement))
}
