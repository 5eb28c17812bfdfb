/** Changes the password of a user who knows the current password or presents a reset token. */
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import { AccessChanged, PasswordChanged } from '../events.ts'
import type { Wait } from '../login-lockout.ts'
import type { PasswordRule } from '../password-rule.ts'
import { updatePassword } from '../store/users.ts'
import type { User } from '../types.ts'

/** Result of a change. `wrong`: the current password is wrong. `gone`: there is no such user. `problem` rejects the new password. */
export type PasswordChange = 'changed' | 'wrong' | 'gone' | Wait | { problem: string }

export interface OwnPassword {
  /** Checks the current password, then sets the new password and ends all logins of the user. */
  change(
    tenantId: string,
    userId: string,
    passwords: { present: string; next: string; address: string },
  ): Promise<PasswordChange>
  /**
   * Sets a password without checking the current password. `permit` runs in the same transaction; if it returns false, nothing is changed
   * and the result is `gone`.
   */
  set(
    tenantId: string,
    user: User,
    next: string,
    permit?: (sql: Sql) => Promise<boolean>,
  ): Promise<'changed' | 'gone' | { problem: string }>
}

export function createOwnPassword({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>, core: Core, rule: PasswordRule) {
  const { accounts, passwords, sessions } = core

  const set: OwnPassword['set'] = async (tenantId, user, next, permit) => {
    const problem = await rule.problemOf(next, user)
    if (problem !== undefined) return { problem }
    const hash = await passwords.hash(next, tenantId)
    return await db.tx(async (sql) => {
      if (permit && !(await permit(sql))) return 'gone'
      if (!(await updatePassword(sql, tenantId, user.id, hash, now()))) return 'gone'
      // This call also deletes the reset tokens of the user.
      await sessions.endSessions(sql, tenantId, { userId: user.id })
      await bus.publish(sql, PasswordChanged, { tenantId, username: user.username })
      await bus.publish(sql, AccessChanged, { tenantId, subject: { type: 'user', id: user.id } })
      return 'changed'
    })
  }

  const change: OwnPassword['change'] = async (tenantId, userId, { present, next, address }) => {
    const user = await accounts.find(tenantId, userId)
    if (!user) return 'gone'
    const result = await accounts.logIn(tenantId, { username: user.username, password: present, address })
    if (result === 'wrong' || 'wait' in result) return result
    if (result.user.id !== userId) return 'wrong'
    if (present === next) return { problem: 'expected a password that differs from the present password' }
    return await set(tenantId, result.user, next)
  }

  return { change, set } satisfies OwnPassword
}
