/**
 * Caches the permissions of subjects (document 4, section 2): the scopes of their roles, and the grants to them and to their roles. If a
 * change arrives during a load, the result is used for the waiting request but not cached.
 */
import { createCache } from '../kernel/cache.ts'
import type { Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { type Permission, platformSystem, tenantSystem } from '../kernel/permissions.ts'
import { AccessChanged, CreatorGranted, RealmChanged, RealmStatusChanged } from './events.ts'
import type { HeldPermissions } from './held-permissions.ts'
import { invalidToken } from './invalid-token.ts'
import { canonicalResource, every, heldScopes, holdsEverything, platformTenant } from './scopes.ts'
import * as store from './store/access.ts'

/** Maximum age of a cache entry. It limits the effect of a lost invalidation. */
export const cacheMs = 60_000
const subjectsMax = 20_000

export interface Subject {
  readonly tenantId: string
  readonly key: store.SubjectKey
  /** The loaded caller, which requests share. Undefined if it was not loaded or was invalidated. */
  cachedCaller: Promise<Caller> | undefined
  /** True if the subject was loaded and does not exist, is disabled, or its realm is not available. */
  isRejected: boolean
  /** Milliseconds since the epoch until which `cachedCaller` or `isRejected` is valid. */
  validUntil: number
  permissions: Permission[] | undefined
  loading: Promise<Caller> | undefined
  /** Increases with every invalidation. */
  generation: number
}

export interface Access {
  subjectOf(key: store.SubjectKey): Subject
  /** Returns the caller. Throws 401 if the subject is deleted or disabled, or its realm is not available. */
  callerOf(subject: Subject): Promise<Caller>
}

/** Merges the scopes of roles and grants by resource. Platform and tenant come first, because most checks concern them. */
export function permissionsOf(
  tenantId: string,
  roles: readonly store.RoleRow[],
  grants: readonly (readonly [resource: string, scopes: readonly string[]])[],
): Permission[] {
  const onPlatform = new Set<string>()
  const onTenant = new Set<string>()
  const onResources = new Map<string, ReadonlySet<string>>()
  const isPlatformTenant = tenantId === platformTenant
  for (const role of roles) {
    for (const scope of heldScopes(role.scopes)) onTenant.add(scope)
    if (!isPlatformTenant) continue
    for (const scope of heldScopes(role.platformScopes)) onPlatform.add(scope)
    if (holdsEverything(tenantId, role.name)) onPlatform.add('*')
  }
  for (const [name, scopes] of grants) {
    const resource = canonicalResource(name)
    if (resource === platformSystem) {
      if (isPlatformTenant) for (const scope of heldScopes(scopes)) onPlatform.add(scope)
    } else if (resource === tenantSystem) for (const scope of heldScopes(scopes)) onTenant.add(scope)
    else {
      const known = onResources.get(resource)
      const heldOnResource = scopes.length === 1 && scopes[0] === '*' ? every : heldScopes(scopes)
      onResources.set(resource, known ? new Set([...known, ...heldOnResource]) : heldOnResource)
    }
  }
  return [
    ...(onPlatform.size > 0 ? [{ resource: platformSystem, scopes: onPlatform }] : []),
    ...(onTenant.size > 0 ? [{ resource: tenantSystem, scopes: onTenant }] : []),
    ...Array.from(onResources, ([resource, scopes]) => ({ resource, scopes })),
  ]
}

const cacheKeyOf = ({ type, id, external }: store.SubjectKey) =>
  external ? `${type}\n${id}\n${external.roles.join('\n')}` : `${type}\n${id}`

function invalidate(subject: Subject) {
  subject.generation++
  subject.cachedCaller = undefined
  subject.permissions = undefined
  subject.loading = undefined
  subject.isRejected = false
  subject.validUntil = 0
}

export function createAccess({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>, held: HeldPermissions): Access {
  const subjects = createCache<Subject>({
    max: subjectsMax,
    groupOf: ({ tenantId }) => tenantId,
    onDrop: invalidate,
    bus,
  })

  const cachedSubjects = (tenantId: string, { type, id }: { type: string; id: string }) => {
    const known = subjects.get(`${tenantId}\n${type}\n${id}`)
    if (known || type !== 'user' || !id.includes(':')) return known ? [known] : []
    // A user of an external issuer has one entry for each set of roles that occurs in its tokens.
    return subjects.ofGroup(tenantId).filter(({ key }) => key.id === id)
  }
  const invalidateTenant = ({ tenantId }: { tenantId: string }) => subjects.ofGroup(tenantId).forEach(invalidate)

  bus.subscribe(RealmChanged, invalidateTenant)
  bus.subscribe(RealmStatusChanged, invalidateTenant)
  bus.subscribe(AccessChanged, ({ tenantId, subject }) => {
    if (subject === undefined) invalidateTenant({ tenantId })
    else cachedSubjects(tenantId, subject).forEach(invalidate)
  })
  bus.subscribe(CreatorGranted, ({ tenantId, subject, resource }) => {
    for (const cached of cachedSubjects(tenantId, subject)) {
      // Requests in progress share this list. Appending to it removes no permission from them.
      if (cached.permissions && !cached.loading) cached.permissions.push({ resource, scopes: every })
      else invalidate(cached)
    }
  })

  async function load(subject: Subject): Promise<Caller> {
    const { key, tenantId, generation } = subject
    const row = await store.findSubject(db.sql, key)
    const isCurrent = subject.generation === generation
    if (isCurrent) {
      subject.loading = undefined
      subject.validUntil = now().getTime() + cacheMs
      subject.isRejected = !row
    }
    if (!row) throw invalidToken()
    const permissions = permissionsOf(tenantId, row.roles, row.grants)
    const caller: Caller = {
      tenantId,
      subject: { type: key.type, id: key.id },
      ...(row.username !== null && { username: row.username }),
      ...(row.email !== null && { email: row.email }),
      roles: row.roles.map(({ name }) => name),
      permissions,
    }
    if (isCurrent) {
      subject.permissions = permissions
      subject.cachedCaller = Promise.resolve(caller)
      held.hold(subject, permissions.length, () => invalidate(subject))
    }
    return caller
  }

  const access: Access = {
    subjectOf(key) {
      const cacheKey = `${key.tenantId}\n${cacheKeyOf(key)}`
      let subject = subjects.get(cacheKey)
      if (!subject) {
        subject = {
          tenantId: key.tenantId,
          key,
          cachedCaller: undefined,
          isRejected: false,
          validUntil: 0,
          permissions: undefined,
          loading: undefined,
          generation: 0,
        }
        subjects.set(cacheKey, subject)
      }
      return subject
    },
    async callerOf(requested) {
      // The requested entry may have been evicted from the cache. Events do not invalidate evicted entries, so the entry that is in the
      // cache now is used.
      const subject = access.subjectOf(requested.key)
      if (subject.validUntil > now().getTime()) {
        if (subject.cachedCaller) return await subject.cachedCaller
        if (subject.isRejected) throw invalidToken()
      }
      if (!subject.loading) {
        subject.loading = load(subject)
        const started = subject.loading
        started.catch(() => {
          if (subject.loading === started) subject.loading = undefined
        })
      }
      return await subject.loading
    },
  }
  return access
}
