/**
 * Caches the permissions of subjects (document 4, section 2): the scopes of their roles, and the grants to them and to
 * their roles. A result that was loaded while a change arrived answers the waiting request and is not cached.
 */
import { createCache } from '../kernel/cache.ts'
import type { Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { type Permission, platformSystem, tenantSystem } from '../kernel/permissions.ts'
import { AccessChanged, CreatorGranted, RealmChanged, RealmStatusChanged } from './events.ts'
import { invalidToken } from './invalid-token.ts'
import { canonicalResource, every, heldScopes, holdsEverything, platformTenant } from './scopes.ts'
import * as store from './store/access.ts'

/** Maximum age of a cache entry. It bounds the effect of a lost invalidation. */
export const cacheMs = 60_000
const subjectsMax = 20_000

export interface Subject {
  readonly tenantId: string
  readonly key: store.SubjectKey
  /** The loaded caller, shared between requests; undefined if it is not loaded or invalidated. */
  ready: Promise<Caller> | undefined
  /** True if the subject was loaded and does not exist, is disabled, or its realm is not available. */
  refused: boolean
  /** Epoch ms until which `ready` or `refused` is valid. */
  until: number
  permissions: Permission[] | undefined
  loading: Promise<Caller> | undefined
  /** Increases with every invalidation. */
  generation: number
}

export interface Access {
  subjectOf(key: store.SubjectKey): Subject
  /** Returns the caller; 401 if the subject is deleted or disabled, or its realm is not available. */
  callerOf(subject: Subject): Promise<Caller>
}

/** Merges scopes by resource. Platform and tenant come first, because most checks are about them. */
export function permissionsOf(
  tenantId: string,
  roles: readonly store.RoleRow[],
  grants: readonly (readonly [resource: string, scopes: readonly string[]])[],
): Permission[] {
  const onPlatform = new Set<string>()
  const onTenant = new Set<string>()
  const below = new Map<string, ReadonlySet<string>>()
  const ofPlatform = tenantId === platformTenant
  for (const role of roles) {
    for (const scope of heldScopes(role.scopes)) onTenant.add(scope)
    if (!ofPlatform) continue
    for (const scope of heldScopes(role.platformScopes)) onPlatform.add(scope)
    if (holdsEverything(tenantId, role.name)) onPlatform.add('*')
  }
  for (const [name, scopes] of grants) {
    const resource = canonicalResource(name)
    if (resource === platformSystem) {
      if (ofPlatform) for (const scope of heldScopes(scopes)) onPlatform.add(scope)
    } else if (resource === tenantSystem) for (const scope of heldScopes(scopes)) onTenant.add(scope)
    else {
      const known = below.get(resource)
      const held = scopes.length === 1 && scopes[0] === '*' ? every : heldScopes(scopes)
      below.set(resource, known ? new Set([...known, ...held]) : held)
    }
  }
  return [
    ...(onPlatform.size > 0 ? [{ resource: platformSystem, scopes: onPlatform }] : []),
    ...(onTenant.size > 0 ? [{ resource: tenantSystem, scopes: onTenant }] : []),
    ...Array.from(below, ([resource, scopes]) => ({ resource, scopes })),
  ]
}

const cacheKeyOf = ({ type, id, external }: store.SubjectKey) =>
  external ? `${type}\n${id}\n${external.roles.join('\n')}` : `${type}\n${id}`

function invalidate(subject: Subject) {
  subject.generation++
  subject.ready = undefined
  subject.permissions = undefined
  subject.loading = undefined
  subject.refused = false
  subject.until = 0
}

export function createAccess({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>): Access {
  const subjects = createCache<Subject>({
    max: subjectsMax,
    groupOf: ({ tenantId }) => tenantId,
    onDrop: invalidate,
    bus,
  })

  const matching = (tenantId: string, { type, id }: { type: string; id: string }) => {
    const known = subjects.get(`${tenantId}\n${type}\n${id}`)
    if (known || type !== 'user' || !id.includes(':')) return known ? [known] : []
    // A user of an external issuer has one entry for each set of roles in its tokens.
    return subjects.ofGroup(tenantId).filter(({ key }) => key.id === id)
  }
  const invalidateTenant = ({ tenantId }: { tenantId: string }) => subjects.ofGroup(tenantId).forEach(invalidate)

  bus.subscribe(RealmChanged, invalidateTenant)
  bus.subscribe(RealmStatusChanged, invalidateTenant)
  bus.subscribe(AccessChanged, ({ tenantId, subject }) => {
    if (subject === undefined) invalidateTenant({ tenantId })
    else matching(tenantId, subject).forEach(invalidate)
  })
  bus.subscribe(CreatorGranted, ({ tenantId, subject, resource }) => {
    for (const cached of matching(tenantId, subject)) {
      // Requests in progress share this list. Appending takes no permission away from them.
      if (cached.permissions && !cached.loading) cached.permissions.push({ resource, scopes: every })
      else invalidate(cached)
    }
  })

  async function load(subject: Subject): Promise<Caller> {
    const { key, tenantId, generation } = subject
    const row = await store.findSubject(db.sql, key)
    const current = subject.generation === generation
    if (current) {
      subject.loading = undefined
      subject.until = now().getTime() + cacheMs
      subject.refused = !row
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
    if (current) {
      subject.permissions = permissions
      subject.ready = Promise.resolve(caller)
    }
    return caller
  }

  const access: Access = {
    subjectOf(key) {
      const name = `${key.tenantId}\n${cacheKeyOf(key)}`
      let subject = subjects.get(name)
      if (!subject) {
        subject = {
          tenantId: key.tenantId,
          key,
          ready: undefined,
          refused: false,
          until: 0,
          permissions: undefined,
          loading: undefined,
          generation: 0,
        }
        subjects.set(name, subject)
      }
      return subject
    },
    async callerOf(given) {
      // Events invalidate only the cached entry; the given one may have been evicted.
      const subject = access.subjectOf(given.key)
      if (subject.until > now().getTime()) {
        if (subject.ready) return await subject.ready
        if (subject.refused) throw invalidToken()
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
