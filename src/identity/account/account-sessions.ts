/**
 * Sessions of the account pages. The cookie of a session contains a random id, and the database contains the hash of this id. These
 * sessions are separate from logins of applications.
 */
import { createHash } from 'node:crypto'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import * as artefacts from '../store/artefacts.ts'

const model = 'AccountSession'
const cookieName = 'waypost_account'
const minutes = 15

const hash = (text: string) => createHash('sha256').update(text).digest()

export interface AccountSession {
  id: string
  userId: string
  /** The state that `provider/account-pages.ts` stores: whether the sign-in is complete, and the steps in progress. */
  payload: artefacts.Payload
}

export type AccountSessions = ReturnType<typeof createAccountSessions>

export function createAccountSessions({ db, now, baseUrl }: Pick<Kit, 'db' | 'now' | 'baseUrl'>) {
  const path = (mount: string) => `${mount}/account`
  const cookie = (mount: string, value: string, seconds: number) =>
    [
      `${cookieName}=${value}`,
      `path=${path(mount)}`,
      `max-age=${seconds}`,
      'httponly',
      // Requests from other sites never contain this cookie.
      'samesite=strict',
      ...(baseUrl().startsWith('https:') ? ['secure'] : []),
    ].join('; ')

  const save = (tenantId: string, { id, userId, payload }: AccountSession) =>
    artefacts.upsertArtefact(db.sql, {
      tenantId,
      model,
      id: hash(id),
      payload,
      grantId: null,
      uid: null,
      // Because of this field, the session ends when the other logins of the user are ended.
      accountId: userId,
      expiresAt: new Date(now().getTime() + minutes * 60_000),
    })

  return {
    save,
    async find(tenantId: string, cookieHeader: string | undefined): Promise<AccountSession | undefined> {
      const id = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]{43})(?:;|$)`).exec(cookieHeader ?? '')?.[1]
      if (id === undefined) return undefined
      const userId = await artefacts.findAccountOf(db.sql, tenantId, model, hash(id), now())
      const payload = await artefacts.findArtefact(db.sql, tenantId, model, hash(id), now())
      return userId === undefined || payload === undefined ? undefined : { id, userId, payload }
    },
    /** Starts a session and returns its cookie. */
    async start(tenantId: string, mount: string, userId: string, payload: artefacts.Payload = {}) {
      const session = { id: newSecret(), userId, payload }
      await save(tenantId, session)
      return { session, cookie: cookie(mount, session.id, minutes * 60) }
    },
    /** Ends a session and returns a cookie header that removes the cookie. */
    async end(tenantId: string, mount: string, session: AccountSession | undefined) {
      if (session) await artefacts.deleteArtefact(db.sql, tenantId, model, hash(session.id))
      return cookie(mount, '', 0)
    },
  }
}
