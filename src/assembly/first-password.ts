import { PasswordChanged } from '../identity/events.ts'
import type { Kit } from '../kernel/define-service.ts'

export const adminName = 'admin'

/** Where the first administrator's password is kept, sealed. */
export const vaultName = (tenantId: string) => `bootstrap/${tenantId}/admin`

/** Whoever changes the first administrator's password makes what we have kept of it untrue. */
export function forgetFirstPasswords({ bus, db, secrets }: Kit, changed: () => void) {
  bus.react('bootstrap.forget-password', PasswordChanged, async (sql, { tenantId, username }) => {
    if (username !== adminName) return
    await sql`update kernel.vault set sealed = ${secrets.seal('')} where name = ${vaultName(tenantId)}`
    db.afterCommit(sql, changed)
  })
}
