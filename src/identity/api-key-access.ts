/**
 * Authenticates API keys (document 4, section 1). A key has at most the permissions that its owner has at the time of use. A grant to the
 * key counts only if the owner has the same permission on that resource or on the tenant.
 */
import { hash } from 'node:crypto'
import { createCache } from '../kernel/cache.ts'
import type { Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import {
  everyScope,
  holds,
  onPlatform,
  onResource,
  onTenant,
  type Permission,
  platformSystem,
  tenantSystem,
} from '../kernel/permissions.ts'
import { type Access, cacheMs, permissionsOf, type Subject } from './access.ts'
import { AccessChanged, RealmChanged, RealmStatusChanged } from './events.ts'
import type { HeldPermissions } from './held-permissions.ts'
import { invalidToken } from './invalid-token.ts'
import { lastUseOfKeyNotWritten } from './log-messages.ts'
import { heldScopes } from './scopes.ts'
import * as store from './store/access.ts'

/** Prefix of every key. It lets secret scanners recognise a leaked key. */
export const keyPrefix = 'wpk_'
export const hashOfKey = (key: string) => hash('sha256', key, 'buffer')

const keysMax = 10_000
const writeUseEveryMs = 60_000

interface CachedKey {
  tenantId: string
  row: store.KeyRow
  owner: Subject
  validUntil: number
  usedAt: number
  cachedCaller: Promise<Caller> | undefined
  /** The state of the owner from which `cachedCaller` was computed. `cachedCaller` is stale if the owner differs in one of these fields. */
  ownerCaller: Promise<Caller> | undefined
  ownerPermissions: Permission[] | undefined
  ownerPermissionCount: number
}

export interface KeyAccess {
  callerOf(key: string): Promise<Caller>
  /** Waits until pending writes of last uses are done. */
  stop(): Promise<void>
}

/**
 * Returns the permissions of a key: the owner's permissions, limited to the scopes of the key, and the grants to the key that the owner has
 * too.
 */
export function permissionsOfKey(owner: Caller, row: Pick<store.KeyRow, 'scopes' | 'grants'>): readonly Permission[] {
  const granted = permissionsOf(owner.tenantId, [], row.grants).flatMap(({ resource, scopes }) => {
    const grantedOn =
      resource === platformSystem
        ? onPlatform
        : resource === tenantSystem
          ? onTenant(owner.tenantId)
          : onResource(owner.tenantId, resource)
    const ownerScopes = [...scopes].filter((scope) => holds(owner, scope, grantedOn))
    return ownerScopes.length > 0 ? [{ resource, scopes: new Set(ownerScopes) }] : []
  })
  if (row.scopes === null) return granted.length > 0 ? [...owner.permissions, ...granted] : owner.permissions
  const keyScopes = heldScopes(row.scopes)
  const limited = owner.permissions.flatMap(({ resource, scopes }) => {
    const shared = scopes.has(everyScope) ? keyScopes : new Set([...keyScopes].filter((scope) => scopes.has(scope)))
    return shared.size > 0 ? [{ resource, scopes: shared }] : []
  })
  return [...limited, ...granted]
}

export function createKeyAccess(
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log'>,
  access: Access,
  held: HeldPermissions,
): KeyAccess {
  const { db, bus, now, log } = kit
  const keys = createCache<CachedKey>({
    max: keysMax,
    groupOf: ({ tenantId }) => tenantId,
    isExpired: ({ validUntil }) => validUntil <= now().getTime(),
    bus,
  })
  const pendingWrites = new Set<Promise<void>>()

  const invalidateTenant = ({ tenantId }: { tenantId: string }) => keys.dropGroup(tenantId)
  bus.subscribe(RealmChanged, invalidateTenant)
  bus.subscribe(RealmStatusChanged, invalidateTenant)
  bus.subscribe(AccessChanged, ({ tenantId, subject }) => {
    if (subject === undefined) invalidateTenant({ tenantId })
    else if (subject.type === 'api-key') keys.dropGroup(tenantId, ({ row }) => row.id === subject.id)
  })

  /** Writes the time of the last use in the background, at most once a minute. */
  function recordUse(cached: CachedKey, at: number) {
    if (at - cached.usedAt < writeUseEveryMs) return
    cached.usedAt = at
    const { tenantId, id } = cached.row
    const written = store
      .touchKey(db.sql, tenantId, id, new Date(at))
      .catch((error) => lastUseOfKeyNotWritten(log, { err: error, tenantId, apiKey: id }))
      .finally(() => pendingWrites.delete(written))
    pendingWrites.add(written)
  }

  async function loadKey(text: string, at: number): Promise<CachedKey> {
    const row = await store.findKey(db.sql, hashOfKey(text))
    if (!row || (row.expiresAt !== null && row.expiresAt.getTime() <= at)) throw invalidToken()
    return {
      tenantId: row.tenantId,
      row,
      owner: access.subjectOf({ tenantId: row.tenantId, type: row.ownerType, id: row.ownerId }),
      validUntil: Math.min(at + cacheMs, row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
      usedAt: row.lastUsedAt?.getTime() ?? 0,
      cachedCaller: undefined,
      ownerCaller: undefined,
      ownerPermissions: undefined,
      ownerPermissionCount: 0,
    }
  }

  async function loadCaller(text: string, keyHash: string, at: number): Promise<Caller> {
    const cached = (await keys.read(keyHash, () => loadKey(text, at)))!
    cached.owner = access.subjectOf(cached.owner.key)
    const owner = await access.callerOf(cached.owner)
    const { row } = cached
    const caller: Caller = {
      tenantId: owner.tenantId,
      subject: { type: 'api-key', id: row.id },
      keyName: row.name,
      ...(owner.username !== undefined && { username: owner.username }),
      ...(owner.email !== undefined && { email: owner.email }),
      // A key with limited scopes has no roles, because a role would imply all its scopes.
      roles: row.scopes === null ? owner.roles : [],
      permissions: permissionsOfKey(owner, row),
    }
    // If the owner changed meanwhile, the result is used for this request but not cached.
    const ownerPermissions = cached.owner.permissions
    if (cached.owner.cachedCaller !== undefined && ownerPermissions === owner.permissions) {
      cached.cachedCaller = Promise.resolve(caller)
      cached.ownerCaller = cached.owner.cachedCaller
      cached.ownerPermissions = ownerPermissions
      cached.ownerPermissionCount = owner.permissions.length
    }
    const ownPermissions = caller.permissions === owner.permissions ? 0 : caller.permissions.length
    held.hold(cached, ownPermissions + row.grants.length, () => keys.drop(keyHash))
    recordUse(cached, at)
    return caller
  }

  return {
    callerOf(text) {
      // The length is limited, so that hashing an invalid key costs little.
      if (!text.startsWith(keyPrefix) || text.length > 128) return Promise.reject(invalidToken())
      const keyHash = hash('sha256', text, 'base64')
      const at = now().getTime()
      const cached = keys.get(keyHash)
      if (
        cached?.cachedCaller !== undefined &&
        cached.validUntil > at &&
        cached.ownerCaller === cached.owner.cachedCaller &&
        cached.owner.validUntil > at &&
        cached.ownerPermissions?.length === cached.ownerPermissionCount
      ) {
        recordUse(cached, at)
        return cached.cachedCaller
      }
      return loadCaller(text, keyHash, at)
    },
    async stop() {
      await Promise.all(pendingWrites)
    },
  }
}
