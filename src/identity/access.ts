/**
 * What a subject may do (document 4, section 2): its roles' scopes and the grants to it and to its roles, looked up
 * once and kept until something of it changes. A change that comes while we look it up wins: what was read before is
 * used for the request that waits for it, and not kept.
 */
import { createCache } from '../kernel/cache.ts'
import type { Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { type Permission, platformSystem, tenantSystem } from '../kernel/permissions.ts'
import { AccessChanged, CreatorGranted, RealmChanged, RealmStatusChanged } from './events.ts'
import { refused } from './refused.ts'
import { canonicalResource, every, heldScopes, holdsEverything, platformTenant } from './scopes.ts'
import * as store from './store/access.ts'

/** Kept so long at most: what bounds the harm of a message that never came. */
export const keptMs = 60_000
const subjectsMax = 20_000

export interface Subject {
  readonly tenantId: string
  readonly key: store.SubjectKey
  /** Shared between requests. Undefined: not looked up, or out of date. */
  ready: Promise<Caller> | undefined
  /** Looked up and found to be nobody who may talk. */
  refused: boolean
  /** Epoch ms until which either of the two counts. */
  until: number
  permissions: Permission[] | undefined
  loading: Promise<Caller> | undefined
  /** Grows with every change. */
  generation: number
}

export interface Access {
  subjectOf(key: store.SubjectKey): Subject
  /** 401 for who is gone, disabled, or in a realm that is not available. */
  callerOf(subject: Subject): Promise<Caller>
}

/** The same resource once, with all its scopes; the systems first, because most questions are about them. */
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

const nameOf = ({ type, id, external }: store.SubjectKey) =>
  external ? `${type}\n${id}\n${external.roles.join('\n')}` : `${type}\n${id}`

export function createAccess({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>): Access {
  const forget = (subject: Subject) => {
    subject.generation++
    subject.ready = undefined
    subject.permissions = undefined
    subject.loading = undefined
    subject.refused = false
    subject.until = 0
  }
  const subjects = createCache<Subject>({ max: subjectsMax, groupOf: ({ tenantId }) => tenantId, onDrop: forget, bus })

  const matching = (tenantId: string, { type, id }: { type: string; id: string }) => {
    const known = subjects.get(`${tenantId}\n${type}\n${id}`)
    if (known || type !== 'user' || !id.includes(':')) return known ? [known] : []
    // A user of another provider is kept once for each set of roles that its tokens name.
    return subjects.ofGroup(tenantId).filter(({ key }) => key.id === id)
  }
  const forgetAll = ({ tenantId }: { tenantId: string }) => subjects.ofGroup(tenantId).forEach(forget)

  bus.hear(RealmChanged, forgetAll)
  bus.hear(RealmStatusChanged, forgetAll)
  bus.hear(AccessChanged, ({ tenantId, subject }) => {
    if (subject === undefined) forgetAll({ tenantId })
    else matching(tenantId, subject).forEach(forget)
  })
  bus.hear(CreatorGranted, ({ tenantId, subject, resource }) => {
    for (const known of matching(tenantId, subject)) {
      // Only ever growing, so those who hold the list at this moment lose nothing.
      if (known.permissions && !known.loading) known.permissions.push({ resource, scopes: every })
      else forget(known)
    }
  })

  async function load(subject: Subject): Promise<Caller> {
    const { key, tenantId, generation } = subject
    const row = await store.findSubject(db.sql, key)
    const current = subject.generation === generation
    if (current) {
      subject.loading = undefined
      subject.until = now().getTime() + keptMs
      subject.refused = !row
    }
    if (!row) throw refused()
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
      const name = `${key.tenantId}\n${nameOf(key)}`
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
      // The one that is kept under this name hears of changes; the given one may have made room for another.
      const subject = access.subjectOf(given.key)
      if (subject.until > now().getTime()) {
        if (subject.ready) return await subject.ready
        if (subject.refused) throw refused()
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
