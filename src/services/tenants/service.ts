/** The operations on tenants, which both APIs and other services call. */
import { authorizeOrNotFound, type Ctx } from '../../kernel/contract.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onPlatform, onTenant } from '../../kernel/permissions.ts'
import type { Tenants } from './contract.ts'
import { type Condition, remove, type TenantChange, tenantNotFound, update } from './service/changes.ts'
import type { TenantDeps } from './service/deps.ts'
import { ensureBuiltIn, type RegisteredTenant, type Registration, register } from './service/registration.ts'
import { findStorageQuota } from './store/catalogues.ts'
import * as store from './store/tenants.ts'
import type { Tenant } from './tenant.ts'

export interface TenantsService extends Tenants {
  /** Registers a tenant. Returns undefined if the tenant id is taken. */
  register(registration: Registration): Promise<RegisteredTenant | undefined>
  find(tenantId: string): Promise<Tenant>
  list(
    filter: store.TenantFilter,
    order: store.TenantOrder,
    window: Window,
  ): Promise<{ count: number; tenants: Tenant[] }>
  /** Changes a tenant. Fails with 412 if the tenant does not meet the condition. */
  update(tenantId: string, change: TenantChange, condition: Condition): Promise<Tenant>
  remove(tenantId: string, condition: Condition): Promise<void>
  /** Finds a tenant by its internal id. */
  findById(id: string): Promise<Tenant>
  /** Finds a tenant by its internal id. Throws 404 if the caller may not read it. */
  findVisible(ctx: Ctx, id: string, scope?: string): Promise<Tenant>
}

export const readScope = 'identity:tenant:read'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function createTenants(deps: TenantDeps): TenantsService {
  const { db } = deps.kit
  return {
    register: (registration) => register(deps, registration),
    find: (tenantId) => find(deps, tenantId),
    list: (filter, order, window) => store.findTenants(db.sql, filter, order, window),
    update: (tenantId, change, condition) => update(deps, tenantId, change, condition),
    remove: (tenantId, condition) => remove(deps, tenantId, condition),
    findById: (id) => findById(deps, id),
    findVisible: (ctx, id, scope) => findVisible(deps, ctx, id, scope),
    storageQuota: (tenantId) => findStorageQuota(db.sql, tenantId),
    ensureBuiltIn: (tenantId) => ensureBuiltIn(deps, tenantId),
  }
}

async function find({ kit: { db } }: TenantDeps, tenantId: string): Promise<Tenant> {
  const tenant = await store.findTenant(db.sql, { tenantId })
  if (!tenant) throw tenantNotFound(tenantId)
  return tenant
}

async function findById({ kit: { db } }: TenantDeps, id: string): Promise<Tenant> {
  const tenant = uuid.test(id) ? await store.findTenant(db.sql, { id }) : undefined
  if (!tenant) throw tenantNotFound(id)
  return tenant
}

async function findVisible(deps: TenantDeps, ctx: Ctx, id: string, scope = readScope): Promise<Tenant> {
  const tenant = await findById(deps, id)
  authorizeOrNotFound(ctx, { read: readScope, scope }, onTenant(tenant.tenantId), () => tenantNotFound(id))
  return tenant
}

/** Returns the only tenant that a caller of v2 may list. With the scope on the platform, returns undefined, which means all tenants. */
export const onlyVisibleTenant = (ctx: Ctx): string | undefined =>
  holds(ctx.caller, readScope, onPlatform) ? undefined : ctx.tenantId
