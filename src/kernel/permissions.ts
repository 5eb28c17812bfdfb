/**
 * Permissions (document 4, section 2): a permission is a scope on a resource; resources form a tree, and a permission covers
 * everything below its resource. permissions.test.ts lists the cases.
 */
export const platformSystem = 'platform-system'
export const tenantSystem = 'tenant-system'

/** Stands for all scopes; the creator of a resource holds it. */
export const everyScope = '*'

export interface Permission {
  /** `platform-system`, `tenant-system`, `application-<name>`, `endpoint-<id>`, … */
  resource: string
  scopes: ReadonlySet<string>
}

export interface Holder {
  tenantId: string
  permissions: readonly Permission[]
}

/** A resource with its tenant and its path from the root: `['tenant-system', 'application-a', 'endpoint-1']`. */
export interface Resource {
  tenantId: string | undefined
  path: readonly string[]
}

export const onPlatform: Resource = { tenantId: undefined, path: [] }
export const onTenant = (tenantId: string): Resource => ({ tenantId, path: [tenantSystem] })
export const onResource = (tenantId: string, ...below: string[]): Resource => ({
  tenantId,
  path: [tenantSystem, ...below],
})

/** Returns whether the holder has the scope. A permission on platform-system covers all tenants, any other only the holder's own. */
export function holds(holder: Holder, scope: string, resource: Resource): boolean {
  if (holder.permissions.length > linearSearchMax) return holdsAmongMany(holder, scope, resource)
  for (const permission of holder.permissions) {
    if (!permission.scopes.has(scope) && !permission.scopes.has(everyScope)) continue
    if (permission.resource === platformSystem) return true
    if (holder.tenantId === resource.tenantId && resource.path.includes(permission.resource)) return true
  }
  return false
}

/** Up to this number a linear search is faster. */
const linearSearchMax = 32

/** Indexes permissions by resource, for holders who created thousands of resources. A list of permissions only ever grows. */
const byResource = new WeakMap<readonly Permission[], { seen: number; named: Map<string, ReadonlySet<string>[]> }>()

function holdsAmongMany({ tenantId, permissions }: Holder, scope: string, resource: Resource): boolean {
  const index = byResource.get(permissions) ?? { seen: 0, named: new Map<string, ReadonlySet<string>[]>() }
  if (index.seen === 0) byResource.set(permissions, index)
  for (; index.seen < permissions.length; index.seen++) {
    const permission = permissions[index.seen]!
    const known = index.named.get(permission.resource)
    if (known) known.push(permission.scopes)
    else index.named.set(permission.resource, [permission.scopes])
  }
  const { named } = index
  const held = (name: string) => named.get(name)?.some((scopes) => scopes.has(scope) || scopes.has(everyScope)) ?? false
  return held(platformSystem) || (tenantId === resource.tenantId && resource.path.some(held))
}

/** Returns whether the holder has the scope on any resource, so that the operation can succeed at all. */
export const holdsSomewhere = (holder: Holder, scope: string) =>
  holder.permissions.some(({ scopes }) => scopes.has(scope) || scopes.has(everyScope))

/**
 * Returns what a list may show: `all` of the tenant, or the names of resources of one type (prefix `application-`). Query
 * permissions on resources above with their own prefix.
 */
export function visibleResources(holder: Holder, scope: string, tenantId: string, prefix: string): 'all' | string[] {
  if (holds(holder, scope, onTenant(tenantId))) return 'all'
  if (holder.tenantId !== tenantId) return []
  return holder.permissions
    .filter(({ resource, scopes }) => resource.startsWith(prefix) && (scopes.has(scope) || scopes.has(everyScope)))
    .map(({ resource }) => resource.slice(prefix.length))
}
