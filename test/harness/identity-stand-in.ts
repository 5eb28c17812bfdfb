/** Identity in memory, for tests of services that ask it: no tokens, no hashes, and failures on demand. */
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

export interface RememberedRealm extends RealmView {
  spec: RealmSpec | undefined
  users: (NewUser & { id: string })[]
}

export function identityStandIn() {
  const realms = new Map<string, RememberedRealm>()
  const grants: { tenantId: string; subject: string; resource: string }[] = []
  const failures: { tenantId: string; error: Error }[] = []
  const builds: string[] = []

  const viewOf = (user: NewUser & { id: string }): UserView => ({
    id: user.id,
    username: user.username,
    ...(user.email !== undefined && { email: user.email }),
    ...(user.firstName !== undefined && { firstName: user.firstName }),
    ...(user.lastName !== undefined && { lastName: user.lastName }),
    enabled: true,
  })
  const mustHave = (tenantId: string) => {
    const realm = realms.get(tenantId)
    if (!realm) throw new Error(`realm ${tenantId} does not exist`)
    return realm
  }

  const api: Identity = {
    authenticate: async () => undefined,
    async reserveRealm(_, { tenantId, frontendClientId, backendClientId }) {
      const known = realms.get(tenantId)
      if (known) return known
      const realm: RememberedRealm = {
        tenantId,
        status: 'CREATING',
        issuer: `http://waypost.test/auth/realms/${tenantId}`,
        frontendClientId,
        backendClientId,
        backendClientSecret: newSecret(),
        spec: undefined,
        users: [],
      }
      realms.set(tenantId, realm)
      return realm
    },
    async buildRealm(_, spec) {
      builds.push(spec.tenantId)
      const failure = failures.findIndex(({ tenantId }) => tenantId === spec.tenantId)
      if (failure >= 0) throw failures.splice(failure, 1)[0]!.error
      mustHave(spec.tenantId).spec = spec
    },
    async setRealmStatus(_, tenantId, status: RealmStatus) {
      mustHave(tenantId).status = status
      if (status === 'DELETED') realms.delete(tenantId)
    },
    realm: async (tenantId) => realms.get(tenantId),
    realms: async (tenantIds) => new Map(tenantIds.flatMap((id) => (realms.has(id) ? [[id, realms.get(id)!]] : []))),
    async createUser(_, tenantId, user) {
      const { users } = mustHave(tenantId)
      if (users.some(({ username }) => username === user.username)) return undefined
      const password = user.password ?? newSecret(15)
      const id = user.id ?? newId()
      users.push({ ...user, id, password })
      return user.password === undefined ? { id, password } : { id }
    },
    async findUsers(tenantId, { search = '', enabled, offset, limit }) {
      const found = (realms.get(tenantId)?.users ?? [])
        .map(viewOf)
        .filter(({ username, email = '' }) => username.includes(search) || email.includes(search))
        .filter((user) => enabled === undefined || user.enabled === enabled)
      return { count: found.length, users: found.slice(offset, limit === null ? undefined : offset + limit) }
    },
    async deleteUser(_, tenantId, userId) {
      const realm = mustHave(tenantId)
      const before = realm.users.length
      realm.users = realm.users.filter(({ id }) => id !== userId)
      return realm.users.length < before
    },
    async grantCreator(_, ctx, resource) {
      grants.push({ tenantId: ctx.tenantId, subject: ctx.caller.subject.id, resource })
    },
    async forgetResource(_, tenantId, resource) {
      for (let at = grants.length - 1; at >= 0; at--)
        if (grants[at]!.tenantId === tenantId && grants[at]!.resource === resource) grants.splice(at, 1)
    },
  }

  return {
    service: defineService({ name: 'identity', provides: Identity, build: () => ({ api }) }),
    realms,
    /** Who created what, in order; forgotten resources are gone. */
    grants,
    /** Every call of buildRealm, also the failed ones. */
    builds,
    /** The next calls of buildRealm for this tenant fail, each once. */
    failBuilding(tenantId: string, ...errors: Error[]) {
      failures.push(...errors.map((error) => ({ tenantId, error })))
    },
  }
}
