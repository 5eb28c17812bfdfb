/**
 * Resets forgotten passwords by e-mail. A request only enqueues a job, whether the user exists or not. Therefore neither the response nor
 * its duration reveals which users exist.
 */
import { createHash } from 'node:crypto'
import { networkOf } from '../../kernel/client-address.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import { defineJob } from '../../kernel/jobs.ts'
import type { Mailer } from '../../kernel/mail.ts'
import type { Core } from '../core.ts'
import * as artefacts from '../store/artefacts.ts'
import { attempts } from '../store/attempts.ts'
import { findForLogin, lockUser } from '../store/users.ts'
import type { User } from '../types.ts'
import type { OwnPassword } from './own-password.ts'

const model = 'PasswordReset'
export const resetMinutes = 30
/** Maximum number of e-mails to one user within the lifetime of a token. */
const mailsPerUser = 3
/** Limits the requests of one address. Further requests get 429. */
const perAddress = { limit: 20, windowSeconds: 900, lockSeconds: 900 }

const sendReset = defineJob<{ tenantId: string; name: string }>('identity.password-reset', { retries: 4 })

const hash = (text: string) => createHash('sha256').update(text).digest()

export interface Reset {
  /** Requests a reset. Returns the seconds to wait if the address has sent too many requests, otherwise 0. */
  request(tenantId: string, name: string, address: string): Promise<number>
  /** Returns the user of a token that was not used and has not expired. */
  find(tenantId: string, token: string): Promise<User | undefined>
  /** Sets the password and consumes the token. If the password rule rejects the password, the token stays valid. */
  complete(tenantId: string, token: string, password: string): Promise<'changed' | 'gone' | { problem: string }>
}

export function createReset(
  kit: Pick<Kit, 'db' | 'jobs' | 'now' | 'baseUrl'>,
  { core, mailer, ownPassword }: { core: Core; mailer: Mailer; ownPassword: OwnPassword },
): Reset {
  const { db, jobs, now } = kit

  jobs.handle(sendReset, async ({ tenantId, name }) => {
    const user = await findForLogin(db.sql, tenantId, name)
    const realm = await core.realms.get(tenantId)
    if (!user?.enabled || user.email === undefined || realm?.status !== 'AVAILABLE') return
    const token = newSecret()
    const id = hash(token)
    const isStored = await db.tx(async (sql) => {
      // Several jobs for the same user may run at the same time, so the user is locked while the e-mails are counted.
      await lockUser(sql, tenantId, user.id)
      if ((await artefacts.countArtefactsOf(sql, tenantId, model, user.id, now())) >= mailsPerUser) return false
      const expiresAt = new Date(now().getTime() + resetMinutes * 60_000)
      const links = { grantId: null, uid: null, accountId: user.id }
      await artefacts.upsertArtefact(sql, { tenantId, model, id, payload: {}, ...links, expiresAt })
      return true
    })
    if (!isStored) return
    const link = `${core.realms.issuerOf(tenantId)}/account/new-password?token=${token}`
    try {
      await mailer.send({ to: user.email, ...mailOf(realm.displayName ?? tenantId, user.username, link) })
    } catch (error) {
      // The job is repeated, and the next attempt creates another token.
      await artefacts.deleteArtefact(db.sql, tenantId, model, id)
      throw error
    }
  })

  async function find(tenantId: string, token: string): Promise<User | undefined> {
    const accountId = await artefacts.findAccountOf(db.sql, tenantId, model, hash(token), now())
    const user = accountId === undefined ? undefined : await core.accounts.find(tenantId, accountId)
    return user?.enabled ? user : undefined
  }

  return {
    find,
    async request(tenantId, name, address) {
      const key = hash(`reset\n${networkOf(address)}`)
      return await db.tx(async (sql) => {
        if (!(await attempts.reserve(sql, key, now(), perAddress))) {
          const { until } = await attempts.find(sql, [key], now())
          return Math.max(1, Math.ceil(((until ?? now()).getTime() - now().getTime()) / 1000))
        }
        await attempts.recordFailure(sql, key, now(), perAddress)
        await jobs.send(sql, sendReset, { tenantId, name })
        return 0
      })
    },
    async complete(tenantId, token, password) {
      const user = await find(tenantId, token)
      if (!user) return 'gone'
      return await ownPassword.set(tenantId, user, password, (sql) =>
        artefacts.consumeArtefact(sql, tenantId, model, hash(token), now()),
      )
    },
  }
}

const mailOf = (realm: string, username: string, link: string) => ({
  subject: `New password for ${realm}`.replace(/[\r\n]/g, ' '),
  text: `Somebody asked for a new password of the user ${username} of ${realm}.

Open this link within ${resetMinutes} minutes to choose a password. The link works once:

${link}

If it was not you, ignore this message. Your password stays as it is.
`,
})
