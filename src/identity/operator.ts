/** What the commands `waypost user` and `waypost key` ask for: the same rules, called by the platform itself. */
import type { Ctx } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { invalidField, NotFound } from '../kernel/errors.ts'
import { permissionsOf } from './access.ts'
import type { Operator } from './contract.ts'
import type { ApiKeys } from './iam/api-keys/service.ts'
import { visibleText } from './iam/shapes.ts'
import type { Users } from './iam/users/service.ts'
import type { Keys } from './keys.ts'
import { scopePattern } from './scopes.ts'
import { findSubject } from './store/access.ts'

const isScope = new RegExp(scopePattern)
const isVisible = new RegExp(visibleText, 'u')

/** What the shapes of the operations ask of texts: here nothing else has looked at them. */
function check(field: string, text: string, shape: RegExp, max: number) {
  if (text === '' || text.length > max || !shape.test(text))
    throw invalidField(field, `expected at most ${max} characters that match ${shape.source}`)
}

export function createOperator(
  { system, db }: Pick<Kit, 'system' | 'db'>,
  { users, apiKeys, keys }: { users: Users; apiKeys: ApiKeys; keys: Keys },
): Operator {
  /** With what the subject holds, and no more: a key with a scope that its owner has not would never work. */
  async function inTheNameOf(tenantId: string, subject: { type: 'user' | 'client'; id: string }): Promise<Ctx> {
    const ctx = system(tenantId)
    const found = await findSubject(db.sql, { tenantId, ...subject }, { evenDisabled: true })
    if (!found) throw NotFound({ what: `An available ${subject.type} ${subject.id}` })
    const permissions = permissionsOf(tenantId, found.roles, found.grants)
    return { ...ctx, caller: { ...ctx.caller, subject, permissions } }
  }
  return {
    async addUser(tenantId, user) {
      check('username', user.username, isVisible, 255)
      return await users.create(system(tenantId), user)
    },
    setPassword: (tenantId, userId, password) => users.setPassword(system(tenantId), userId, password),
    removeUser: (tenantId, userId) => users.delete(system(tenantId), userId),
    async createApiKey(tenantId, owner, key) {
      check('name', key.name, /^[^\0]*$/, 255)
      for (const scope of key.scopes ?? []) check('scopes', scope, isScope, 128)
      return await apiKeys.create(await inTheNameOf(tenantId, owner), key)
    },
    apiKeys: async (tenantId) => (await apiKeys.list(system(tenantId), { offset: 0, limit: 0 })).content,
    revokeApiKey: (tenantId, id) => apiKeys.delete(system(tenantId), id),
    rotateSigningKey: keys.rotate,
  }
}
