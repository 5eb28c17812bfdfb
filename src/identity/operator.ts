/** Implements the commands `waypost user` and `waypost key` with the services of the API. */
import type { Ctx } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { invalidField, NotFound } from '../kernel/errors.ts'
import { permissionsOf } from './access.ts'
import type { PasswordLinks } from './account/password-links.ts'
import type { Operator } from './contract.ts'
import type { ApiKeys } from './iam/api-keys/service.ts'
import { visibleText } from './iam/shapes.ts'
import type { Users } from './iam/users/service.ts'
import { scopePattern } from './scopes.ts'
import type { SigningKeys } from './signing-keys.ts'
import { findSubject } from './store/access.ts'

const scopeExpression = new RegExp(scopePattern)
const visibleTextExpression = new RegExp(visibleText, 'u')

/** Validates a text as the schemas of the API do, because commands do not use these schemas. */
function rejectInvalid(field: string, text: string, shape: RegExp, max: number) {
  if (text === '' || text.length > max || !shape.test(text))
    throw invalidField(field, `expected at most ${max} characters that match ${shape.source}`)
}

export function createOperator(
  { system, db }: Pick<Kit, 'system' | 'db'>,
  parts: { users: Users; apiKeys: ApiKeys; signingKeys: SigningKeys; links: PasswordLinks },
): Operator {
  const { users, apiKeys, signingKeys, links } = parts
  /** Creates a context with the owner's permissions, so that a key gets only scopes that its owner has. */
  async function contextOfOwner(tenantId: string, subject: { type: 'user' | 'client'; id: string }): Promise<Ctx> {
    const ctx = system(tenantId)
    const found = await findSubject(db.sql, { tenantId, ...subject }, { includesDisabled: true })
    if (!found) throw NotFound({ what: `${subject.type === 'user' ? 'User' : 'Client'} ${subject.id}` })
    const permissions = permissionsOf(tenantId, found.roles, found.grants)
    return { ...ctx, caller: { ...ctx.caller, subject, permissions } }
  }
  return {
    async addUser(tenantId, user) {
      rejectInvalid('username', user.username, visibleTextExpression, 255)
      return await users.create(system(tenantId), user)
    },
    setPassword: (tenantId, userId, password) => users.setPassword(system(tenantId), userId, password),
    createPasswordLink: links.create,
    removeSecondFactors: (tenantId, userId) => users.removeSecondFactors(system(tenantId), userId),
    removeUser: (tenantId, userId) => users.delete(system(tenantId), userId),
    async createApiKey(tenantId, owner, key) {
      rejectInvalid('name', key.name, /^[^\0]*$/, 255)
      for (const scope of key.scopes ?? []) rejectInvalid('scopes', scope, scopeExpression, 128)
      return await apiKeys.create(await contextOfOwner(tenantId, owner), key)
    },
    apiKeys: async (tenantId) => (await apiKeys.list(system(tenantId), { offset: 0, limit: 0 })).content,
    revokeApiKey: (tenantId, id) => apiKeys.delete(system(tenantId), id),
    rotateSigningKey: signingKeys.rotate,
  }
}
