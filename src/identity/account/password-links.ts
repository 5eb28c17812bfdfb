/**
 * Links by which a user without a known password chooses one: of the first start, and of `waypost user link`. A link works once, within
 * 15 minutes, and only its hash is stored. Choosing the password signs the user in: a ticket replaces the password at the next login.
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
const ticketModel = 'LoginTicket'
export const linkMinutes = 15
const ticketSeconds = 120
const ticketCookie = 'waypost_ticket'

const hash = (text: string) => createHash('sha256').update(text).digest()

export interface PasswordLinks {
  /** Returns the path of a new link below the public address. */
  create(tenantId: string, userId: string): Promise<string>
  /** Returns the user of a link that was not used yet and has not expired. */
  find(tenantId: string, token: string): Promise<User | undefined>
  /** Sets the password and uses the link up; returns the cookie with the ticket. A password that the rule refuses leaves the link valid. */
  complete(
    tenantId: string,
    use: { token: string; password: string; mount: string; address: string },
  ): Promise<{ cookie: string } | 'gone' | { problem: string }>
}

type Deps = Pick<Kit, 'db' | 'now' | 'baseUrl' | 'audit'>

export function createPasswordLinks(kit: Deps, core: Core, ownPassword: OwnPassword): PasswordLinks {
  const { db, now, audit } = kit

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
      await store(kit, { tenantId, model: linkModel, token, userId, seconds: linkMinutes * 60 })
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
      const ticket = newSecret()
      await store(kit, { tenantId, model: ticketModel, token: ticket, userId: user.id, seconds: ticketSeconds })
      return { cookie: cookieOf(kit, mount, ticket, ticketSeconds) }
    },
  }
}

const store = (
  { db, now }: Deps,
  of: { tenantId: string; model: string; token: string; userId: string; seconds: number },
) =>
  artefacts.upsertArtefact(db.sql, {
    tenantId: of.tenantId,
    model: of.model,
    id: hash(of.token),
    payload: {},
    grantId: null,
    uid: null,
    // A change of the password ends it.
    accountId: of.userId,
    expiresAt: new Date(now().getTime() + of.seconds * 1000),
  })

const cookieOf = ({ baseUrl }: Pick<Kit, 'baseUrl'>, mount: string, value: string, seconds: number) =>
  [
    `${ticketCookie}=${value}`,
    `path=${mount}/login`,
    `max-age=${seconds}`,
    'httponly',
    'samesite=strict',
    ...(baseUrl().startsWith('https:') ? ['secure'] : []),
  ].join('; ')

export type LoginTickets = ReturnType<typeof createLoginTickets>

export function createLoginTickets({ db, now, baseUrl }: Pick<Kit, 'db' | 'now' | 'baseUrl'>) {
  return {
    /** Uses up the ticket in a cookie. Returns its user, and the cookie that removes it; undefined without a valid ticket. */
    async use(tenantId: string, mount: string, cookieHeader: string | undefined) {
      const ticket = new RegExp(`(?:^|;\\s*)${ticketCookie}=([\\w-]{43})(?:;|$)`).exec(cookieHeader ?? '')?.[1]
      if (ticket === undefined) return undefined
      const userId = await artefacts.findAccountOf(db.sql, tenantId, ticketModel, hash(ticket), now())
      const isUsed = await artefacts.consumeArtefact(db.sql, tenantId, ticketModel, hash(ticket), now())
      return userId === undefined || !isUsed ? undefined : { userId, cookie: cookieOf({ baseUrl }, mount, '', 0) }
    },
  }
}
