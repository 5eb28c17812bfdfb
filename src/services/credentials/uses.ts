/** When credentials were last used: written together a second later, and for one credential at most once a minute. */
import type { Kit } from '../../kernel/define-service.ts'
import { saveBasicUses, type Use } from './store/basic.ts'
import { saveCertificateUses } from './store/certificates.ts'

export interface Uses {
  /** `known` is the remembered row: its date is moved on at once, so that the next use within the minute costs nothing. */
  note(kind: 'basic' | 'x509', tenantId: string, known: { id: string; lastUseDate: Date | null }): void
  flush(): Promise<void>
}

const everyMs = 60_000
const delayMs = 1000
const together = 5000

export function createUses({ db, now, log }: Pick<Kit, 'db' | 'now' | 'log'>): Uses {
  const noted = { basic: [] as Use[], x509: [] as Use[] }
  let timer: NodeJS.Timeout | undefined

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    try {
      while (noted.basic.length > 0) await saveBasicUses(db.sql, noted.basic.splice(0, together))
      while (noted.x509.length > 0) await saveCertificateUses(db.sql, noted.x509.splice(0, together))
    } catch (error) {
      // A date that is a minute old is worth no second attempt.
      log.warn({ err: error }, 'last uses of credentials could not be written')
    }
  }

  return {
    flush,
    note(kind, tenantId, known) {
      const at = now()
      if (known.lastUseDate && at.getTime() - known.lastUseDate.getTime() < everyMs) return
      known.lastUseDate = at
      noted[kind].push({ tenantId, id: known.id, at })
      timer ??= setTimeout(flush, delayMs).unref()
    },
  }
}
