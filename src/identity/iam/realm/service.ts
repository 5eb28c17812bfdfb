import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { NoSuchRealm } from '../../errors.ts'
import type { Realms } from '../../realms.ts'
import { updateSecondFactor } from '../../store/second-factors.ts'
import type { RealmSettings as Settings } from './schemas.ts'

export type RealmSettings = ReturnType<typeof createRealmSettings>

export function createRealmSettings({ db }: Pick<Kit, 'db'>, realms: Realms) {
  return {
    async read({ tenantId }: Ctx): Promise<Settings> {
      const realm = await realms.get(tenantId)
      if (!realm) throw NoSuchRealm({ tenantId })
      return { secondFactor: realm.secondFactor }
    },
    async update({ tenantId }: Ctx, { secondFactor }: Settings): Promise<Settings> {
      await db.tx(async (sql) => {
        if (!(await updateSecondFactor(sql, tenantId, secondFactor))) throw NoSuchRealm({ tenantId })
        await realms.changed(sql, tenantId)
      })
      return { secondFactor }
    },
  }
}
