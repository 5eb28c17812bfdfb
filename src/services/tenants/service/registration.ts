/** Registers tenants: the row, the reserved realm, the subscription, and the job that builds the realm. */
import type { RealmView } from '../../../identity/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { newName, newSecret } from '../../../kernel/ids.ts'
import { BuildTenant } from '../build-job.ts'
import { clientIdsOf } from '../compose-realm.ts'
import { TenantRegistered } from '../events.ts'
import type { SubscriptionType } from '../schemas/common.ts'
import { insertSubscription } from '../store/catalogues.ts'
import { findRealmParts, findUserTemplate } from '../store/realm-parts.ts'
import * as store from '../store/tenants.ts'
import { builtInTenants, defaultVersions, type RealmVersions, type Tenant, type TenantChoices } from '../tenant.ts'
import type { TenantDeps } from './deps.ts'
import { definedFieldsOf, realmFields, requireReferences } from './references.ts'

export interface Registration extends Partial<RealmVersions>, Partial<TenantChoices> {
  /** Default: generated from the name. */
  tenantId?: string | undefined
  name: string
  loginTheme?: string | undefined
  subscriptionType: SubscriptionType
  analyticsEnabled?: boolean | undefined
  /** The user that manages the tenant. In v1, the request names a template (`userTemplate`) instead. */
  admin?: NewAdmin | undefined
}

export interface NewAdmin {
  username: string
  email?: string | null
  firstName?: string | null
  lastName?: string | null
  /** Generated if absent, and returned only once. */
  password?: string | undefined
}

export interface RegisteredTenant {
  tenant: Tenant
  realm: RealmView
  generatedPassword: string | undefined
}

/** Registers a tenant. Returns undefined if the tenant id is taken. */
export async function register(deps: TenantDeps, registration: Registration): Promise<RegisteredTenant | undefined> {
  if (registration.tenantId !== undefined && builtInTenants.includes(registration.tenantId)) return undefined
  const { db, jobs } = deps.kit
  return await db.tx(async (sql) => {
    const registered = await insert(deps, sql, registration)
    if (registered) await jobs.send(sql, BuildTenant, { tenantId: registered.tenant.tenantId })
    return registered
  })
}

export async function ensureBuiltIn(deps: TenantDeps, tenantId: string): Promise<void> {
  await deps.kit.db.tx(async (sql) => {
    const existing = await store.lockTenant(sql, tenantId)
    if (existing?.status === 'AVAILABLE') return
    const inserted = existing
      ? undefined
      : await insert(deps, sql, { tenantId, name: tenantId, subscriptionType: 'PERMANENT', builtIn: true })
    // If two nodes start together, the second waits for the commit of the first and then reads its row.
    const tenant = existing ?? inserted?.tenant ?? (await store.lockTenant(sql, tenantId))
    if (tenant && tenant.status !== 'AVAILABLE') await deps.buildJob.finish(sql, tenant)
  })
}

type NewRegistration = Registration & { builtIn?: boolean }

/** Inserts the row, the reserved realm and the subscription. Returns undefined if the tenant id is taken. */
async function insert(
  { kit, identity }: TenantDeps,
  sql: Sql,
  registration: NewRegistration,
): Promise<RegisteredTenant | undefined> {
  const versions = { ...defaultVersions, ...definedFieldsOf(registration, realmFields) }
  const choices = choicesOf(registration)
  await requireReferences(sql, { ...versions, ...choices })
  const { frontendClientId, backendClientId } = clientIdsOf(await findRealmParts(sql, versions))
  const admin = await adminOf(sql, registration)
  const password = admin && (admin.password ?? newSecret(15))
  const row: store.NewTenant = {
    ...versions,
    ...choices,
    id: kit.newId(),
    tenantId: registration.tenantId ?? tenantIdFrom(registration.name),
    name: registration.name,
    loginTheme: registration.loginTheme ?? null,
    status: 'CREATING',
    builtIn: registration.builtIn ?? false,
    subscriptionType: registration.subscriptionType,
    analyticsEnabled: registration.analyticsEnabled ?? false,
    clientFrontendId: frontendClientId,
    clientBackendId: backendClientId,
    adminId: admin ? kit.newId() : null,
    adminUsername: admin?.username ?? null,
    adminEmail: admin?.email ?? null,
    adminFirstName: admin?.firstName ?? null,
    adminLastName: admin?.lastName ?? null,
    // The password is stored sealed until the job has created the administrator: the response contains it now, but the realm is built
    // later.
    adminPasswordSealed: password === undefined ? null : kit.secrets.seal(password),
    objectstoreSecretSealed: kit.secrets.seal(newSecret()),
    created: kit.now(),
    modified: kit.now(),
  }
  if (!(await store.insertTenant(sql, row))) return undefined
  const { tenantId } = row
  const realm = await identity.reserveRealm(sql, { tenantId, frontendClientId, backendClientId })
  await insertSubscription(sql, tenantId, row.subscriptionType, row.created)
  await kit.bus.publish(sql, TenantRegistered, { tenantId })
  const tenant = await store.findTenant(sql, { tenantId })
  return { tenant: tenant!, realm, generatedPassword: admin?.password === undefined ? password : undefined }
}

const choicesOf = ({ packageType, idpServer, idpVersion, userTemplate, userRoles }: Registration): TenantChoices => ({
  packageType: packageType ?? 1,
  idpServer: idpServer ?? 1,
  idpVersion: idpVersion ?? 1,
  userTemplate: userTemplate ?? null,
  userRoles: userRoles ?? 1,
})

async function adminOf(sql: Sql, { admin, userTemplate }: Registration): Promise<NewAdmin | undefined> {
  if (admin || !userTemplate) return admin
  return await findUserTemplate(sql, userTemplate)
}

function tenantIdFrom(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    // NFKD separates accents from their letters: the id of `Zürich` starts with `zurich`, not `zu-rich`.
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '')
  return `${slug || 'tenant'}-${newName().slice(0, 6)}`
}
