/**
 * Limits the number of permissions in the caches of this node. Each cache limits only the number of its entries, but one entry can have
 * thousands of permissions.
 */

/** Maximum number of permissions in all caches together. A permission takes about 150 bytes. */
const permissionsMax = 1_000_000
/** Entries with fewer permissions are not counted, because each cache limits the number of its entries. */
const countedMin = 100

export interface HeldPermissions {
  /**
   * Replaces the counted number of permissions of a cache entry. If the caches now hold too many permissions, calls `drop` of other
   * entries, the one that was loaded first before the others.
   */
  hold(entry: object, permissions: number, drop: () => void): void
  readonly total: number
}

export function createHeldPermissions(max = permissionsMax): HeldPermissions {
  /** The entry that was loaded last is at the end. */
  const entries = new Map<object, { permissions: number; drop: () => void }>()
  let total = 0

  function remove(entry: object) {
    total -= entries.get(entry)?.permissions ?? 0
    entries.delete(entry)
  }

  return {
    hold(entry, permissions, drop) {
      remove(entry)
      if (permissions < countedMin) return
      entries.set(entry, { permissions, drop })
      total += permissions
      for (const [oldest, held] of entries) {
        if (total <= max || oldest === entry) break
        remove(oldest)
        held.drop()
      }
    },
    get total() {
      return total
    },
  }
}
