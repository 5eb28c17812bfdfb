import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { NoSuchRealm } from '../../errors.ts'
import type { Realms } from '../../realms.ts'
import { lockSecondFactorMode, updateSecondFactorMode } from '../../store/second-factors.ts'
import { requirePermissionsOfAllRoles } from '../escalation.ts'
import type { RealmSettings as Settings } from './schemas.ts'

/** The rules for second factors, the weakest first. */
const modes: Settings['secondFactor'][] = ['off', 'optional', 'required']

export type RealmSettings = ReturnType<typeof createRealmSettings>

export function createRealmSettings({ db }: Pick<Kit, 'db'>, realms: Realms) {
  return {
    async read({ tenantId }: Ctx): Promise<Settings> {
      const realm = await realms.get(tenantId)
      if (!realm) throw NoSuchRealm({ tenantId })
      return { secondFactor: realm.secondFactor }
    },
    async update(ctx: Ctx, { secondFactor }: Settings): Promise<Settings> {
      const { tenantId } = ctx
      await db.tx(async (sql) => {
        const before = await lockSecondFactorMode(sql, tenantId)
        if (before === undefined) throw NoSuchRealm({ tenantId })
        // A weaker rule also weakens the logins of users with more permissions, so the caller needs the permissions of all roles.
        if (modes.indexOf(secondFactor) < modes.indexOf(before)) await requirePermissionsOfAllRoles(ctx, sql)
        await updateSecondFactorMode(sql, tenantId, secondFactor)
        await realms.changed(sql, tenantId)
      })
      return { secondFactor }
    },
  }
}
