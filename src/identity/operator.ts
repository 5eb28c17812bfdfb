/** What the commands `waypost user` and `waypost key` ask for: the same rules, called by the platform itself. */
import type { Ctx } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { Operator } from './contract.ts'
import type { ApiKeys } from './iam/api-keys/service.ts'
import type { Users } from './iam/users/service.ts'
import type { Keys } from './keys.ts'

export function createOperator(
  { system }: Pick<Kit, 'system'>,
  { users, apiKeys, keys }: { users: Users; apiKeys: ApiKeys; keys: Keys },
): Operator {
  const inTheNameOf = (ctx: Ctx, subject: Ctx['caller']['subject']): Ctx => ({
    ...ctx,
    caller: { ...ctx.caller, subject },
  })
  return {
    setPassword: (tenantId, userId, password) => users.setPassword(system(tenantId), userId, password),
    removeUser: (tenantId, userId) => users.delete(system(tenantId), userId),
    createApiKey: (tenantId, owner, key) => apiKeys.create(inTheNameOf(system(tenantId), owner), key),
    apiKeys: async (tenantId) => (await apiKeys.list(system(tenantId), { offset: 0, limit: 0 })).content,
    revokeApiKey: (tenantId, id) => apiKeys.delete(system(tenantId), id),
    rotateSigningKey: keys.rotate,
  }
}
