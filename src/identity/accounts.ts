/** Logs users in, and creates, finds and deletes users for other services. */
import type { Kit } from '../kernel/define-service.ts'
import { newSecret } from '../kernel/ids.ts'
import type { AmbientTransaction } from './ambient-transaction.ts'
import type { Identity, UserView } from './contract.ts'
import type { LoginLockout, Wait } from './login-lockout.ts'
import type { Passwords } from './passwords.ts'
import type { Sessions } from './sessions.ts'
import * as store from './store/users.ts'
import type { User } from './types.ts'

export type LoginResult = { user: User } | Wait | 'wrong'

export interface Accounts extends Pick<Identity, 'createUser' | 'findUsers' | 'deleteUser'> {
  find(tenantId: string, id: string): Promise<User | undefined>
  /** Checks a password. Wrong attempts are delayed and lead to a lockout, per account and per address. */
  logIn(tenantId: string, credentials: { username: string; password: string; address: string }): Promise<LoginResult>
}

/** Maximum length of a password. Longer passwords are rejected without hashing them. */
const passwordBytesMax = 1024
const usernameMax = 255

export function createAccounts(
  { db, newId, audit }: Pick<Kit, 'db' | 'newId' | 'audit'>,
  parts: { passwords: Passwords; lockout: LoginLockout; sessions: Sessions; transaction: AmbientTransaction },
): Accounts {
  const { passwords, lockout, sessions, transaction } = parts
  return {
    find: (tenantId, id) => store.findUser(transaction.sql(), tenantId, id),
    async logIn(tenantId, { username, password, address }) {
      const isUsable =
        username.length <= usernameMax && Buffer.byteLength(password) <= passwordBytesMax && !username.includes('\0')
      const known =
        isUsable && username.isWellFormed() ? await store.findForLogin(db.sql, tenantId, username) : undefined
      // Attempts are counted by user id, so that guesses by username and by e-mail address share one limit.
      const accountKey = `user\n${tenantId}\n${known?.id ?? username.toLowerCase()}`
      const subject = { tenantId, type: 'user' as const, id: known?.id, name: known?.username }
      const attempt = await lockout.reserve({ account: accountKey, address, subject })
      if ('wait' in attempt) return attempt
      let matches: boolean
      try {
        matches = isUsable && (await passwords.matches(password, known?.passwordHash, tenantId, address))
      } catch (error) {
        await attempt.release()
        throw error
      }
      if (!known || !matches || !known.enabled) {
        await attempt.recordFailure()
        return 'wrong'
      }
      await attempt.recordSuccess()
      audit.record({ tenantId, operation: 'logins.succeeded', actor: subject, address })
      const { passwordHash: _, ...user } = known
      return { user }
    },
    async createUser(sql, tenantId, user) {
      const password = user.password ?? newSecret(15)
      const id = user.id ?? newId()
      // Hashing is slow, so it is done before the lock is taken.
      const passwordHash = await passwords.hash(password, tenantId)
      await store.lockUsers(sql, tenantId)
      if (await store.findTakenName(sql, tenantId, id, user)) return undefined
      const inserted = await store.insertUser(sql, tenantId, {
        id,
        username: user.username,
        email: user.email ?? null,
        firstName: user.firstName ?? null,
        lastName: user.lastName ?? null,
        passwordHash,
        roles: user.roles,
      })
      if (!inserted) return undefined
      return user.password === undefined ? { id, password } : { id }
    },
    async findUsers(tenantId, filter) {
      const { count, users } = await store.searchUsers(db.sql, tenantId, filter)
      return { count, users: users.map(viewOf) }
    },
    async deleteUser(sql, tenantId, userId) {
      await sessions.endSessions(sql, tenantId, { userId })
      return store.deleteUser(sql, tenantId, userId)
    },
  }
}

const viewOf = ({ id, username, email, firstName, lastName, enabled }: User): UserView => ({
  id,
  username,
  ...(email !== undefined && { email }),
  ...(firstName !== undefined && { firstName }),
  ...(lastName !== undefined && { lastName }),
  enabled,
})
