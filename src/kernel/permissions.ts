/**
 * Permissions (document 4, section 2). A permission is a scope on a resource. Resources form a tree, and a permission covers everything
 * below its resource. permissions.test.ts lists the cases.
 */
export const platformSystem = 'platform-system'
export const tenantSystem = 'tenant-system'

/** Stands for all scopes. The creator of a resource holds it on that resource. */
export const everyScope = '*'

export interface Permission {
  /** The name of a resource: `platform-system`, `tenant-system`, `application-<name>`, `endpoint-<id>`, … */
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

/**
 * Returns whether two lists have the same permissions in the same order. They cannot be compared as JSON, because JSON does not contain the
 * members of a Set.
 */
export const samePermissions = (one: readonly Permission[], other: readonly Permission[]) =>
  one.length === other.length &&
  one.every(({ resource, scopes }, index) => {
    const compared = other[index]!
    return (
      resource === compared.resource &&
      scopes.size === compared.scopes.size &&
      [...scopes].every((scope) => compared.scopes.has(scope))
    )
  })

/**
 * Returns whether the holder has the scope. A permission on platform-system covers all tenants. Any other permission covers only the
 * holder's own tenant.
 */
export function holds(holder: Holder, scope: string, resource: Resource): boolean {
  if (holder.permissions.length > linearSearchMax) return holdsAmongMany(holder, scope, resource)
  for (const permission of holder.permissions) {
    if (!permission.scopes.has(scope) && !permission.scopes.has(everyScope)) continue
    if (permission.resource === platformSystem) return true
    if (holder.tenantId === resource.tenantId && resource.path.includes(permission.resource)) return true
  }
  return false
}

/** Up to this number of permissions, a linear search is faster than the index. */
const linearSearchMax = 32

/**
 * Caches an index of permissions by resource, for callers with permissions on thousands of resources. `indexed` is the number of
 * permissions in the index. Lists of permissions only grow, so new permissions are added to the index.
 */
const byResource = new WeakMap<
  readonly Permission[],
  { indexed: number; scopesByResource: Map<string, ReadonlySet<string>[]> }
>()

function holdsAmongMany({ tenantId, permissions }: Holder, scope: string, resource: Resource): boolean {
  const index = byResource.get(permissions) ?? {
    indexed: 0,
    scopesByResource: new Map<string, ReadonlySet<string>[]>(),
  }
  if (index.indexed === 0) byResource.set(permissions, index)
  for (; index.indexed < permissions.length; index.indexed++) {
    const permission = permissions[index.indexed]!
    const known = index.scopesByResource.get(permission.resource)
    if (known) known.push(permission.scopes)
    else index.scopesByResource.set(permission.resource, [permission.scopes])
  }
  const { scopesByResource } = index
  const holdsOn = (name: string) =>
    scopesByResource.get(name)?.some((scopes) => scopes.has(scope) || scopes.has(everyScope)) ?? false
  return holdsOn(platformSystem) || (tenantId === resource.tenantId && resource.path.some(holdsOn))
}

/** Returns whether the holder has the scope on at least one resource. */
export const holdsSomewhere = (holder: Holder, scope: string) =>
  holder.permissions.some(({ scopes }) => scopes.has(scope) || scopes.has(everyScope))

/**
 * Returns the resources of one type that a list may show: `all` of the tenant, or names without their prefix, such as `application-`.
 * Resources higher in the tree have other prefixes, so their permissions need a separate call.
 */
export function visibleResources(holder: Holder, scope: string, tenantId: string, prefix: string): 'all' | string[] {
  if (holds(holder, scope, onTenant(tenantId))) return 'all'
  if (holder.tenantId !== tenantId) return []
  return holder.permissions
    .filter(({ resource, scopes }) => resource.startsWith(prefix) && (scopes.has(scope) || scopes.has(everyScope)))
    .map(({ resource }) => resource.slice(prefix.length))
}
