/** Registers the kinds of objects that use applications and versions, and checks whether an application or version is in use. */
import type { Sql } from '../../../kernel/db.ts'
import type { ApplicationUsage } from '../contract.ts'
import { StillUsed } from '../errors.ts'

export interface Usages {
  add(usage: ApplicationUsage): void
  /** Throws 409 if objects use the application or version. */
  requireUnused(sql: Sql, target: { tenantId: string; applicationName: string; versionName?: string }): Promise<void>
}

export function createUsages(): Usages {
  const usages: ApplicationUsage[] = []
  return {
    add: (usage) => void usages.push(usage),
    async requireUnused(sql, target) {
      for (const { plural, count } of usages) {
        const total = await count(sql, target)
        if (total > 0)
          throw StillUsed({ name: target.versionName ?? target.applicationName, users: `${total} ${plural}` })
      }
    },
  }
}
