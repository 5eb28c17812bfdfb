/**
 * Creates links with which a user without a known password chooses a password. The first start and `waypost user link` print such links. A
 * link can be used once, within 15 minutes, and only its hash is stored. After choosing the password, the user is signed in with a ticket
 * (login-tickets.ts).
 */
import { createHash } from 'node:crypto'
import type { Kit } from '../../kernel/define-service.ts'
import { NotFound } from '../../kernel/errors.ts'
import { newSecret } from '../../kernel/ids.ts'
import type { Core } from '../core.ts'
import * as artefacts from '../store/artefacts.ts'
import type { User } from '../types.ts'
import type { OwnPassword } from './own-password.ts'

const linkModel = 'PasswordLink'
export const linkMinutes = 15

const hash = (text: string) => createHash('sha256').update(text).digest()

export interface PasswordLinks {
  /** Returns the path of a new link below the public address. */
  create(tenantId: string, userId: string): Promise<string>
  /** Returns the user of a link that was not used and has not expired. */
  find(tenantId: string, token: string): Promise<User | undefined>
  /**
   * Sets the password and consumes the link. Returns the cookie with the ticket. If the password rule rejects the password, the link stays
   * valid.
   */
  complete(
    tenantId: string,
    use: { token: string; password: string; mount: string; address: string },
  ): Promise<{ cookie: string } | 'gone' | { problem: string }>
}

type Deps = Pick<Kit, 'db' | 'now' | 'audit'>

export function createPasswordLinks({ db, now, audit }: Deps, core: Core, ownPassword: OwnPassword): PasswordLinks {
  async function find(tenantId: string, token: string): Promise<User | undefined> {
    const accountId = await artefacts.findAccountOf(db.sql, tenantId, linkModel, hash(token), now())
    const user = accountId === undefined ? undefined : await core.accounts.find(tenantId, accountId)
    return user?.enabled ? user : undefined
  }

  return {
    find,
    async create(tenantId, userId) {
      const user = await core.accounts.find(tenantId, userId)
      if (!user?.enabled) throw NotFound({ what: `An enabled user ${userId}` })
      const token = newSecret()
      await artefacts.upsertArtefact(db.sql, {
        tenantId,
        model: linkModel,
        id: hash(token),
        payload: {},
        grantId: null,
        uid: null,
        // A change of the password deletes all rows with this account id.
        accountId: userId,
        expiresAt: new Date(now().getTime() + linkMinutes * 60_000),
      })
      audit.record({ tenantId, operation: 'users.passwordLink.created', resource: `/iam/api/v1/users/${userId}` })
      return `/auth/realms/${tenantId}/account/choose-password?token=${token}`
    },
    async complete(tenantId, { token, password, mount, address }) {
      const user = await find(tenantId, token)
      if (!user) return 'gone'
      const outcome = await ownPassword.set(tenantId, user, password, (sql) =>
        artefacts.consumeArtefact(sql, tenantId, linkModel, hash(token), now()),
      )
      if (outcome !== 'changed') return outcome
      const actor = { type: 'user' as const, id: user.id, name: user.username }
      audit.record({ tenantId, operation: 'users.passwordLink.used', actor, address })
      return { cookie: await core.loginTickets.create(tenantId, user.id, mount) }
    },
  }
}
