/** Logins and how they end. A login is a grant: its id is the claim `sid`, its refresh tokens are one family. */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { Denied } from './denied.ts'
import * as artefacts from './store/artefacts.ts'
import { findLifetime } from './store/realms.ts'

export interface Sessions {
  /** The refresh tokens are gone, the access tokens that are still out are denied. */
  endLogin(sql: Sql, tenantId: string, sid: string): Promise<void>
  /** All logins of a user: disabled, deleted, or with another password. */
  endSessions(sql: Sql, tenantId: string, of: { userId: string }): Promise<void>
}

export function createSessions({ now }: Pick<Kit, 'now'>, denied: Denied): Sessions {
  async function deny(sql: Sql, tenantId: string, sids: string[]) {
    if (sids.length === 0) return
    const seconds = await findLifetime(sql, tenantId)
    await denied.add(sql, tenantId, 'sid', sids, new Date(now().getTime() + seconds * 1000))
  }
  return {
    async endLogin(sql, tenantId, sid) {
      await artefacts.deleteGrant(sql, tenantId, sid)
      await deny(sql, tenantId, [sid])
    },
    async endSessions(sql, tenantId, { userId }) {
      await deny(sql, tenantId, await artefacts.deleteArtefactsOf(sql, tenantId, userId))
    },
  }
}
