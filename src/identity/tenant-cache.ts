/** A bounded map whose entries belong to tenants: what is known of one tenant can be dropped without looking at the others. */
export interface TenantCache<V extends { tenantId: string }> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  ofTenant(tenantId: string): V[]
  deleteWhere(tenantId: string, matches: (value: V) => boolean): void
  clear(): void
  readonly size: number
}

/** The oldest entry makes room; `onDrop` hears of every entry that leaves. */
export function createTenantCache<V extends { tenantId: string }>(
  max: number,
  onDrop: (value: V) => void = () => {},
): TenantCache<V> {
  const all = new Map<string, V>()
  const keysOf = new Map<string, Set<string>>()

  function remove(key: string) {
    const value = all.get(key)
    if (!value) return
    all.delete(key)
    const keys = keysOf.get(value.tenantId)
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(value.tenantId)
    onDrop(value)
  }
  const valuesOf = (tenantId: string) => [...(keysOf.get(tenantId) ?? [])].map((key) => [key, all.get(key)!] as const)

  return {
    get: (key) => all.get(key),
    set(key, value) {
      remove(key)
      if (all.size >= max) remove(all.keys().next().value!)
      all.set(key, value)
      const keys = keysOf.get(value.tenantId)
      if (keys) keys.add(key)
      else keysOf.set(value.tenantId, new Set([key]))
    },
    delete: remove,
    ofTenant: (tenantId) => valuesOf(tenantId).map(([, value]) => value),
    deleteWhere(tenantId, matches) {
      for (const [key, value] of valuesOf(tenantId)) if (matches(value)) remove(key)
    },
    clear() {
      for (const value of all.values()) onDrop(value)
      all.clear()
      keysOf.clear()
    },
    get size() {
      return all.size
    },
  }
}
