/** Writes the times at which credentials were last used: collected for a second, and at most once a minute for each credential. */
import type { Kit } from '../../kernel/define-service.ts'
import { lastUsesNotWritten } from './log-messages.ts'
import { saveBasicUses, type Use } from './store/basic.ts'
import { saveCertificateUses } from './store/certificates.ts'

export interface LastUses {
  /** Records a use. Updates the date of the cached `row` immediately, so that further uses within a minute do nothing. */
  record(kind: 'basic' | 'x509', tenantId: string, row: { id: string; lastUseDate: Date | null }): void
  flush(): Promise<void>
}

const minIntervalMs = 60_000
const delayMs = 1000
const batchRows = 5000

export function createLastUses({ db, now, log }: Pick<Kit, 'db' | 'now' | 'log'>): LastUses {
  const pending = { basic: [] as Use[], x509: [] as Use[] }
  let timer: NodeJS.Timeout | undefined

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    try {
      while (pending.basic.length > 0) await saveBasicUses(db.sql, pending.basic.splice(0, batchRows))
      while (pending.x509.length > 0) await saveCertificateUses(db.sql, pending.x509.splice(0, batchRows))
    } catch (error) {
      // The write is not retried, because a later use writes a newer date.
      lastUsesNotWritten(log, { err: error })
    }
  }

  return {
    flush,
    record(kind, tenantId, row) {
      const usedAt = now()
      if (row.lastUseDate && usedAt.getTime() - row.lastUseDate.getTime() < minIntervalMs) return
      row.lastUseDate = usedAt
      pending[kind].push({ tenantId, id: row.id, at: usedAt })
      timer ??= setTimeout(flush, delayMs).unref()
    },
  }
}
