/** Ends logins. A login is a grant of oidc-provider. Its id is the claim `sid`, and its refresh tokens form one family. */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { DeniedTokens } from './denied-tokens.ts'
import * as artefacts from './store/artefacts.ts'
import * as logins from './store/logins.ts'
import { findLifetime } from './store/realms.ts'

export interface Sessions {
  /** Deletes the refresh tokens of a login and denies its access tokens. */
  endLogin(sql: Sql, tenantId: string, sid: string): Promise<void>
  /** Ends all logins of a user who is disabled or deleted or who gets a new password. */
  endSessions(sql: Sql, tenantId: string, user: { userId: string }): Promise<void>
  /**
   * Ends a login of this user. Also ends the other logins of the same browser, because the browser's session could renew the login. Returns
   * false if there is no such login.
   */
  endLoginOf(sql: Sql, tenantId: string, userId: string, sid: string): Promise<boolean>
  /** Ends the logins of this user, except one login and the other logins of the same browser. */
  endOtherLogins(sql: Sql, tenantId: string, userId: string, sid: string | undefined): Promise<void>
}

export function createSessions({ now }: Pick<Kit, 'now'>, denied: DeniedTokens): Sessions {
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
    async endLoginOf(sql, tenantId, userId, sid) {
      const ended = await logins.findLoginsOfBrowser(sql, tenantId, userId, sid)
      if (!ended.includes(sid)) return false
      await logins.deleteLogins(sql, tenantId, userId, ended)
      await deny(sql, tenantId, ended)
      return true
    },
    async endOtherLogins(sql, tenantId, userId, sid) {
      const kept = sid === undefined ? [] : await logins.findLoginsOfBrowser(sql, tenantId, userId, sid)
      await deny(sql, tenantId, await logins.deleteOtherLogins(sql, tenantId, userId, kept))
    },
  }
}
