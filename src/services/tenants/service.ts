/** The operations on tenants, which both APIs and other services call. */
import { authorizeOrNotFound, type Ctx } from '../../kernel/contract.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onPlatform, onTenant } from '../../kernel/permissions.ts'
import type { Tenants } from './contract.ts'
import { noTenant, remove, type TenantChange, update } from './service/changes.ts'
import type { TenantDeps } from './service/deps.ts'
import { ensureBuiltIn, type Registered, type Registration, register } from './service/registration.ts'
import { findDiskSize } from './store/catalogues.ts'
import * as store from './store/tenants.ts'
import type { Tenant } from './tenant.ts'

export interface TenantsService extends Tenants {
  /** Undefined when the tenant ID is taken. */
  register(registration: Registration): Promise<Registered | undefined>
  find(tenantId: string): Promise<Tenant>
  list(
    filter: store.TenantFilter,
    order: store.TenantOrder,
    window: Window,
  ): Promise<{ count: number; tenants: Tenant[] }>
  update(tenantId: string, change: TenantChange): Promise<Tenant>
  remove(tenantId: string): Promise<void>
  /** By the internal id. */
  findById(id: string): Promise<Tenant>
  /** By the internal id; a tenant that the caller may not read does not exist. */
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
    update: (tenantId, change) => update(deps, tenantId, change),
    remove: (tenantId) => remove(deps, tenantId),
    findById: (id) => findById(deps, id),
    findVisible: (ctx, id, scope) => findVisible(deps, ctx, id, scope),
    diskSizeOf: (tenantId) => findDiskSize(db.sql, tenantId),
    ensureBuiltIn: (tenantId) => ensureBuiltIn(deps, tenantId),
  }
}

async function find({ kit: { db } }: TenantDeps, tenantId: string): Promise<Tenant> {
  const tenant = await store.findTenant(db.sql, { tenantId })
  if (!tenant) throw noTenant(tenantId)
  return tenant
}

async function findById({ kit: { db } }: TenantDeps, id: string): Promise<Tenant> {
  const tenant = uuid.test(id) ? await store.findTenant(db.sql, { id }) : undefined
  if (!tenant) throw noTenant(id)
  return tenant
}

async function findVisible(deps: TenantDeps, ctx: Ctx, id: string, scope = readScope): Promise<Tenant> {
  const tenant = await findById(deps, id)
  authorizeOrNotFound(ctx, { read: readScope, scope }, onTenant(tenant.tenantId), () => noTenant(id))
  return tenant
}

/** Tenants that a caller of v2 may list: all with the scope on the platform, else the caller's own. */
export const ownTenantOnly = (ctx: Ctx): string | undefined =>
  holds(ctx.caller, readScope, onPlatform) ? undefined : ctx.tenantId
