import type { Identity, RealmView } from '../../identity/contract.ts'
import { authorizeOn, type Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { InvalidRequest, invalidField, NotFound } from '../../kernel/errors.ts'
import { newName, newSecret } from '../../kernel/ids.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onPlatform, onTenant } from '../../kernel/permissions.ts'
import { BuildTenant, buildRealmOf, type defineBuilding } from './building.ts'
import { type Catalogue, catalogues } from './catalogues.ts'
import type { Tenants } from './contract.ts'
import { BuiltInTenant, MoveRefused } from './errors.ts'
import { TenantDeleted, TenantRegistered, TenantStatusChanged, TenantUpdated } from './events.ts'
import { clientIdsOf, composeRealm } from './realm.ts'
import type { SubscriptionType } from './schemas/common.ts'
import { mayMove, type TenantStatus } from './states.ts'
import { findDiskSize, holdEntry, insertSubscription } from './store/catalogues.ts'
import { findRealmParts, findUserTemplate } from './store/realm-parts.ts'
import * as store from './store/tenants.ts'
import { builtInTenants, defaultVersions, type RealmVersions, type Tenant, type TenantChoices } from './tenant.ts'

export interface Registration extends Partial<RealmVersions>, Partial<TenantChoices> {
  /** Made from the name when absent. */
  tenantId?: string | undefined
  name: string
  loginTheme?: string | undefined
  subscriptionType: SubscriptionType
  analyticsEnabled?: boolean | undefined
  /** Who manages the tenant; v1 names a template (`userTemplate`) instead. */
  admin?: NewAdmin | undefined
}

export interface NewAdmin {
  username: string
  email?: string | null
  firstName?: string | null
  lastName?: string | null
  /** Generated when absent, and told once. */
  password?: string | undefined
}

export interface Registered {
  tenant: Tenant
  realm: RealmView
  generatedPassword: string | undefined
}

export interface TenantChange extends Partial<RealmVersions>, Partial<TenantChoices> {
  name?: string | undefined
  loginTheme?: string | undefined
  subscriptionType?: SubscriptionType | undefined
  analyticsEnabled?: boolean | undefined
  status?: TenantStatus | undefined
}

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
  /** By the internal id; what the caller may not read does not exist. */
  findVisible(ctx: Ctx, id: string, scope?: string): Promise<Tenant>
}

export const readScope = 'identity:tenant:read'
const realmFields = Object.keys(defaultVersions) as (keyof RealmVersions)[]
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const missing = (what: string) => NotFound({ what: `Tenant ${what}` })
const camel = (column: string) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
/** v1 calls it `user`. */
const wordOf = (field: string) => (field === 'userTemplate' ? 'user' : snake(field))

export function createTenants(
  kit: Kit,
  identity: Identity,
  building: Pick<ReturnType<typeof defineBuilding>, 'finish'>,
): TenantsService {
  const { db, bus, jobs, secrets, now, newId } = kit

  /** 400 that names every field whose catalogue entry does not exist; those that do are held until the end. */
  async function checkReferences(sql: Sql, given: Partial<RealmVersions & TenantChoices>) {
    const fields: Record<string, string[]> = {}
    for (const catalogue of catalogues as readonly Catalogue[]) {
      if (!catalogue.usedAs) continue
      const field = camel(catalogue.usedAs)
      const id = (given as Record<string, number | null | undefined>)[field]
      if (id === undefined || id === null || (await holdEntry(sql, catalogue, id))) continue
      fields[wordOf(field)] = [`${catalogue.title} ${id} does not exist`]
    }
    const [first] = Object.entries(fields)
    if (first) throw InvalidRequest({ problem: `${first[0]}: ${first[1][0]}` }, { fields })
  }

  async function adminOf(sql: Sql, { admin, userTemplate }: Registration): Promise<NewAdmin | undefined> {
    if (admin || !userTemplate) return admin
    return await findUserTemplate(sql, userTemplate)
  }

  /** The row, the reserved realm and the subscription; undefined when the tenant ID is taken. */
  async function enter(sql: Sql, registration: Registration & { builtIn?: boolean }): Promise<Registered | undefined> {
    const versions = { ...defaultVersions, ...picked(registration, realmFields) }
    const choices = {
      packageType: registration.packageType ?? 1,
      idpServer: registration.idpServer ?? 1,
      idpVersion: registration.idpVersion ?? 1,
      userTemplate: registration.userTemplate ?? null,
      userRoles: registration.userRoles ?? 1,
    }
    await checkReferences(sql, { ...versions, ...choices })
    const parts = await findRealmParts(sql, versions)
    const admin = await adminOf(sql, registration)
    const tenantId = registration.tenantId ?? tenantIdFrom(registration.name)
    const { frontendClientId, backendClientId } = clientIdsOf(parts)
    const password = admin && (admin.password ?? newSecret(15))
    const row: store.NewTenant = {
      ...versions,
      ...choices,
      id: newId(),
      tenantId,
      name: registration.name,
      loginTheme: registration.loginTheme ?? null,
      status: 'CREATING',
      builtIn: registration.builtIn ?? false,
      subscriptionType: registration.subscriptionType,
      analyticsEnabled: registration.analyticsEnabled ?? false,
      clientFrontendId: frontendClientId,
      clientBackendId: backendClientId,
      adminId: admin ? newId() : null,
      adminUsername: admin?.username ?? null,
      adminEmail: admin?.email ?? null,
      adminFirstName: admin?.firstName ?? null,
      adminLastName: admin?.lastName ?? null,
      // Sealed until the job has made the administrator: the answer shows it now, the realm stands later.
      adminPasswordSealed: password === undefined ? null : secrets.seal(password),
      objectstoreSecretSealed: secrets.seal(newSecret()),
      created: now(),
      modified: now(),
    }
    if (!(await store.insertTenant(sql, row))) return undefined
    const realm = await identity.reserveRealm(sql, { tenantId, frontendClientId, backendClientId })
    await insertSubscription(sql, tenantId, row.subscriptionType, row.created)
    await bus.publish(sql, TenantRegistered, { tenantId })
    const tenant = await store.findTenant(sql, { tenantId })
    return { tenant: tenant!, realm, generatedPassword: admin?.password === undefined ? password : undefined }
  }

  async function move(sql: Sql, { tenantId, status: from }: Tenant, to: TenantStatus) {
    await store.setStatus(sql, tenantId, { status: to, modified: now() })
    await identity.setRealmStatus(sql, tenantId, to)
    await bus.publish(sql, TenantStatusChanged, { tenantId, from, to })
  }

  async function moveByStatus(sql: Sql, tenant: Tenant, to: TenantStatus) {
    const { tenantId, status: from, builtIn } = tenant
    if (from === to) return
    if (builtIn) throw BuiltInTenant({ tenantId })
    if (!mayMove(from, to, 'status')) throw MoveRefused({ tenantId, from, to })
    await move(sql, tenant, to)
  }

  /** By the job; a built-in tenant at once, because nobody could come in to mend it if it failed half-way. */
  async function rebuild(sql: Sql, tenant: Tenant) {
    const { tenantId, status: from, builtIn } = tenant
    if (builtIn) {
      await buildRealmOf(sql, identity, tenant)
      return
    }
    if (!mayMove(from, 'UPDATING', 'rebuild')) throw MoveRefused({ tenantId, from, to: 'UPDATING' })
    // A template that cannot be used is refused now: the job would leave a working tenant FAILED.
    composeRealm(tenant, await findRealmParts(sql, tenant), undefined)
    await move(sql, tenant, 'UPDATING')
    await jobs.send(sql, BuildTenant, { tenantId })
  }

  async function findById(id: string) {
    const tenant = uuid.test(id) ? await store.findTenant(db.sql, { id }) : undefined
    if (!tenant) throw missing(id)
    return tenant
  }

  return {
    register: async (registration) => {
      if (registration.tenantId !== undefined && builtInTenants.includes(registration.tenantId)) return undefined
      return await db.tx(async (sql) => {
        const registered = await enter(sql, registration)
        if (registered) await jobs.send(sql, BuildTenant, { tenantId: registered.tenant.tenantId })
        return registered
      })
    },

    async find(tenantId) {
      const tenant = await store.findTenant(db.sql, { tenantId })
      if (!tenant) throw missing(tenantId)
      return tenant
    },

    list: (filter, order, window) => store.findTenants(db.sql, filter, order, window),

    async update(tenantId, { status, ...fields }) {
      const rebuilds = realmFields.some((field) => fields[field] !== undefined)
      if (rebuilds && status !== undefined)
        throw invalidField('status', 'change it apart from what the realm is built from')
      return await db.tx(async (sql) => {
        const tenant = await store.lockTenant(sql, tenantId)
        if (!tenant) throw missing(tenantId)
        await checkReferences(sql, fields)
        const keys = (Object.keys(fields) as (keyof typeof fields)[]).filter((key) => fields[key] !== undefined)
        const changed = keys.filter((key) => fields[key] !== tenant[key])
        const news = picked(fields, changed) as Partial<Tenant>
        const next = { ...tenant, ...news }
        if (changed.length > 0) {
          await store.updateTenant(sql, tenantId, { ...news, modified: now() })
          await bus.publish(sql, TenantUpdated, { tenantId, changed: changed.map(wordOf) })
        }
        if (changed.includes('subscriptionType')) await insertSubscription(sql, tenantId, next.subscriptionType, now())
        if (status !== undefined) await moveByStatus(sql, tenant, status)
        if (rebuilds) await rebuild(sql, next)
        // What the login page shows is told at once; a realm that is still to be built reads it anyway.
        else if ((changed.includes('name') || changed.includes('loginTheme')) && isBuilt(tenant))
          await buildRealmOf(sql, identity, next)
        return (await store.findTenant(sql, { tenantId }))!
      })
    },

    async remove(tenantId) {
      await db.tx(async (sql) => {
        const tenant = await store.lockTenant(sql, tenantId)
        if (!tenant) throw missing(tenantId)
        if (tenant.builtIn) throw BuiltInTenant({ tenantId })
        await move(sql, tenant, 'DELETED')
        await bus.publish(sql, TenantDeleted, { tenantId })
      })
    },

    findById,

    diskSizeOf: (tenantId) => findDiskSize(db.sql, tenantId),

    async findVisible(ctx, id, scope = readScope) {
      const tenant = await findById(id)
      authorizeOn(ctx, { read: readScope, scope }, onTenant(tenant.tenantId), () => missing(id))
      return tenant
    },

    async ensureBuiltIn(tenantId) {
      await db.tx(async (sql) => {
        const known = await store.lockTenant(sql, tenantId)
        if (known?.status === 'AVAILABLE') return
        const entered = known
          ? undefined
          : await enter(sql, { tenantId, name: tenantId, subscriptionType: 'PERMANENT', builtIn: true })
        // Two nodes that start together: whoever comes second has waited for the first and finds it done.
        const tenant = known ?? entered?.tenant ?? (await store.lockTenant(sql, tenantId))
        if (tenant && tenant.status !== 'AVAILABLE') await building.finish(sql, tenant)
      })
    },
  }
}

/** Tenants that a caller of v2 may list: all with the scope on the platform, else the caller's own. */
export const ownTenantOnly = (ctx: Ctx): string | undefined =>
  holds(ctx.caller, readScope, onPlatform) ? undefined : ctx.tenantId

const isBuilt = ({ status }: Tenant) => status === 'AVAILABLE' || status === 'SUSPENDED' || status === 'DISABLED'

const picked = <T extends object, K extends keyof T>(from: T, keys: readonly K[]) =>
  Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])) as Partial<
    Pick<T, K>
  >

function tenantIdFrom(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '')
  return `${words || 'tenant'}-${newName().slice(0, 6)}`
}
