/**
 * Issues tickets that replace the password at the next login. A user who has just chosen a password through a link gets a ticket. A ticket
 * can be used once, within two minutes.
 */
import { createHash } from 'node:crypto'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import * as artefacts from '../store/artefacts.ts'

const model = 'LoginTicket'
const seconds = 120
const cookieName = 'waypost_ticket'

const hash = (text: string) => createHash('sha256').update(text).digest()

const cookieOf = ({ baseUrl }: Pick<Kit, 'baseUrl'>, mount: string, value: string, maxAge: number) =>
  [
    `${cookieName}=${value}`,
    `path=${mount}/login`,
    `max-age=${maxAge}`,
    'httponly',
    'samesite=strict',
    ...(baseUrl().startsWith('https:') ? ['secure'] : []),
  ].join('; ')

export type LoginTickets = ReturnType<typeof createLoginTickets>

export function createLoginTickets({ db, now, baseUrl }: Pick<Kit, 'db' | 'now' | 'baseUrl'>) {
  return {
    /** Returns a cookie with a new ticket. */
    async create(tenantId: string, userId: string, mount: string): Promise<string> {
      const ticket = newSecret()
      await artefacts.upsertArtefact(db.sql, {
        tenantId,
        model,
        id: hash(ticket),
        payload: {},
        grantId: null,
        uid: null,
        // A change of the password deletes all rows with this account id.
        accountId: userId,
        expiresAt: new Date(now().getTime() + seconds * 1000),
      })
      return cookieOf({ baseUrl }, mount, ticket, seconds)
    },
    /**
     * Consumes the ticket in a cookie. Returns its user, and a cookie header that removes the cookie. Returns undefined if there is no
     * valid ticket.
     */
    async use(tenantId: string, mount: string, cookieHeader: string | undefined) {
      const ticket = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]{43})(?:;|$)`).exec(cookieHeader ?? '')?.[1]
      if (ticket === undefined) return undefined
      const userId = await artefacts.findAccountOf(db.sql, tenantId, model, hash(ticket), now())
      const isUsed = await artefacts.consumeArtefact(db.sql, tenantId, model, hash(ticket), now())
      return userId === undefined || !isUsed ? undefined : { userId, cookie: cookieOf({ baseUrl }, mount, '', 0) }
    },
  }
}
