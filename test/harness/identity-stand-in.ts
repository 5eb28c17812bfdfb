/** An identity service that only remembers what it was told: for tests beside the code of services that need one. */
import {
  Identity,
  type NewUser,
  type RealmSpec,
  type RealmStatus,
  type RealmView,
  type UserView,
} from '../../src/identity/contract.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import { newId, newSecret } from '../../src/kernel/ids.ts'

type KnownUser = NewUser & { id: string }

export interface KnownRealm extends RealmView {
  spec: RealmSpec | undefined
  users: KnownUser[]
}

/** `tenants`: realms that are there from the beginning. */
export function anIdentityStandIn({ tenants = ['platform', 'default'] }: { tenants?: string[] } = {}) {
  const granted: { tenantId: string; subject: string; resource: string }[] = []
  const forgotten: { tenantId: string; resource: string }[] = []
  const built: string[] = []
  const failures: { tenantId: string; error: Error }[] = []
  const realms = new Map<string, KnownRealm>()

  const aRealm = (tenantId: string, status: RealmStatus): KnownRealm => ({
    tenantId,
    status,
    issuer: `http://waypost.test/auth/realms/${tenantId}`,
    frontendClientId: 'frontend',
    backendClientId: 'backend',
    backendClientSecret: newSecret(),
    spec: undefined,
    users: [],
  })
  for (const tenantId of tenants) realms.set(tenantId, aRealm(tenantId, 'AVAILABLE'))

  const existing = (tenantId: string) => {
    const realm = realms.get(tenantId)
    if (!realm) throw new Error(`realm ${tenantId} does not exist`)
    return realm
  }

  const api: Identity = {
    authenticate: async () => undefined,
    operator: undefined as never,
    mayActAs: async (_ctx, tenantIds) => new Set(tenantIds),
    async reserveRealm(_sql, { tenantId, frontendClientId, backendClientId }) {
      const realm = realms.get(tenantId) ?? { ...aRealm(tenantId, 'CREATING'), frontendClientId, backendClientId }
      realms.set(tenantId, realm)
      return realm
    },
    async buildRealm(_sql, spec) {
      built.push(spec.tenantId)
      const failure = failures.findIndex(({ tenantId }) => tenantId === spec.tenantId)
      if (failure >= 0) throw failures.splice(failure, 1)[0]!.error
      existing(spec.tenantId).spec = spec
    },
    async setRealmStatus(_sql, tenantId, status) {
      existing(tenantId).status = status
      if (status === 'DELETED') realms.delete(tenantId)
    },
    realm: async (tenantId) => realms.get(tenantId),
    realms: async (tenantIds) => new Map([...realms].filter(([tenantId]) => tenantIds.includes(tenantId))),
    async createUser(_sql, tenantId, user) {
      const { users } = existing(tenantId)
      if (users.some(({ username }) => username === user.username)) return undefined
      const { id = newId(), password = newSecret(15) } = user
      users.push({ ...user, id, password })
      return user.password === undefined ? { id, password } : { id }
    },
    async findUsers(tenantId, { search = '', enabled = true, offset, limit }) {
      const found = existing(tenantId)
        .users.map(asView)
        .filter((user) => user.enabled === enabled)
        .filter(({ username, email = '' }) => `${username}\n${email}`.includes(search))
      return { count: found.length, users: found.slice(offset, limit === null ? undefined : offset + limit) }
    },
    async deleteUser(_sql, tenantId, userId) {
      const { users } = existing(tenantId)
      const at = users.findIndex(({ id }) => id === userId)
      if (at >= 0) users.splice(at, 1)
      return at >= 0
    },
    async grantCreator(_sql, ctx, resource) {
      granted.push({ tenantId: ctx.tenantId, subject: ctx.caller.subject.id, resource })
    },
    async forgetResource(_sql, tenantId, resource) {
      forgotten.push({ tenantId, resource })
    },
  }

  return {
    service: defineService<Identity>({ name: 'identity', provides: Identity, build: () => ({ api }) }),
    granted,
    forgotten,
    realms,
    /** Every call of buildRealm, the failed ones too. */
    built,
    /** The next calls of buildRealm for this tenant fail, each once. */
    failBuilding(tenantId: string, ...errors: Error[]) {
      failures.push(...errors.map((error) => ({ tenantId, error })))
    },
  }
}

const asView = ({ id, username, email, firstName, lastName }: KnownUser): UserView => ({
  id,
  username,
  ...(email !== undefined && { email }),
  ...(firstName !== undefined && { firstName }),
  ...(lastName !== undefined && { lastName }),
  enabled: true,
})
