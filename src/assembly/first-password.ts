import { PasswordChanged } from '../identity/events.ts'
import type { Kit } from '../kernel/define-service.ts'

export const adminName = 'admin'

/** Returns the name under which the encrypted password of the first administrator is stored. */
export const passwordName = (tenantId: string) => `bootstrap/${tenantId}/admin`

/** Deletes the stored password of a first administrator when that administrator changes it. */
export function deleteChangedFirstPasswords({ bus, db, secrets }: Kit, onDelete: () => void) {
  bus.handle('bootstrap.forget-password', PasswordChanged, async (sql, { tenantId, username }) => {
    if (username !== adminName) return
    await sql`update kernel.vault set sealed = ${secrets.seal('')} where name = ${passwordName(tenantId)}`
    db.afterCommit(sql, onDelete)
  })
}
