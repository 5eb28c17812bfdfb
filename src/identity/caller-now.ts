/** Finds subjects with their current permissions, for scripts that a subject wrote and that run later. */
import { anonymousCaller, type Caller, isAnonymous } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { PlatformError } from '../kernel/errors.ts'
import type { Access } from './access.ts'
import { permissionsOfKey } from './api-key-access.ts'
import type { Identity } from './contract.ts'
import * as store from './store/access.ts'

export function createCallerNow(
  { db, now, platform }: Pick<Kit, 'db' | 'now'> & { platform: Pick<Kit['platform'], 'withoutAuthentication'> },
  access: Access,
): Identity['callerNow'] {
  async function callerOfKey(tenantId: string, id: string): Promise<Caller | undefined> {
    const row = await store.findKeyById(db.sql, tenantId, id)
    if (!row || (row.expiresAt !== null && row.expiresAt <= now())) return undefined
    const owner = await access.callerOf(access.subjectOf({ tenantId, type: row.ownerType, id: row.ownerId }))
    const roles = row.scopes === null ? owner.roles : []
    const permissions = permissionsOfKey(owner, row)
    return { ...owner, subject: { type: 'api-key', id }, keyName: row.name, roles, permissions }
  }

  return async (tenantId, { type, id }) => {
    try {
      if (type === 'api-key') return await callerOfKey(tenantId, id)
      // The APIs that the script calls decide whether they accept anonymous callers.
      if (isAnonymous({ type, id })) return platform.withoutAuthentication === 'none' ? undefined : anonymousCaller
      // The roles of a user of an external issuer are known only from its tokens, so the current permissions are unknown.
      if ((type !== 'user' && type !== 'client') || id.includes(':')) return undefined
      return await access.callerOf(access.subjectOf({ tenantId, type, id }))
    } catch (error) {
      if (error instanceof PlatformError && error.status === 401) return undefined
      throw error
    }
  }
}
