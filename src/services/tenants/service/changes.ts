/** Changes and deletes tenants, and rebuilds the realm if a change requires it. */
import type { Sql } from '../../../kernel/db.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { BuildTenant, buildRealmOf } from '../build-job.ts'
import { composeRealm } from '../compose-realm.ts'
import { BuiltInTenant, TransitionRejected } from '../errors.ts'
import { TenantDeleted, TenantStatusChanged, TenantUpdated } from '../events.ts'
import type { SubscriptionType } from '../schemas/common.ts'
import { isAllowed, type TenantStatus } from '../states.ts'
import { insertSubscription } from '../store/catalogues.ts'
import { findRealmParts } from '../store/realm-parts.ts'
import * as store from '../store/tenants.ts'
import type { RealmVersions, Tenant, TenantChoices } from '../tenant.ts'
import type { TenantDeps } from './deps.ts'
import { definedFieldsOf, realmFields, requestNameOf, requireReferences } from './references.ts'

export interface TenantChange extends Partial<RealmVersions>, Partial<TenantChoices> {
  name?: string | undefined
  loginTheme?: string | undefined
  subscriptionType?: SubscriptionType | undefined
  analyticsEnabled?: boolean | undefined
  status?: TenantStatus | undefined
}

/** The If-Match header of a request, and the ETag that its API gives to a tenant. */
export interface Condition {
  ifMatch: string | undefined
  etag(tenant: Tenant): string
}

export const tenantNotFound = (tenantName: string) => NotFound({ what: `Tenant ${tenantName}` })

export async function update(
  deps: TenantDeps,
  tenantId: string,
  change: TenantChange,
  condition: Condition,
): Promise<Tenant> {
  const { status, ...fields } = change
  return await deps.kit.db.tx(async (sql) => {
    const tenant = await lockExisting(sql, tenantId)
    checkIfMatch(condition.ifMatch, condition.etag(tenant))
    await requireReferences(sql, fields)
    const { next, changed } = await updateFields(deps, sql, tenant, fields)
    const mustRebuild = needsRebuild(tenant, fields, changed)
    if (mustRebuild && status !== undefined && status !== tenant.status)
      throw invalidField(
        'status',
        'cannot change together with fields that rebuild the realm; send a separate request for this field',
      )
    if (status !== undefined) await changeStatus(deps, sql, tenant, status)
    if (mustRebuild) await rebuild(deps, sql, next)
    // The realm has copies of these fields, such as the name for the login page, so a built realm is updated at once. A realm that is still
    // to be built gets the fields from the job.
    else if ((changed.includes('name') || changed.includes('loginTheme')) && isBuilt(tenant))
      await buildRealmOf(sql, deps.identity, next)
    return (await store.findTenant(sql, { tenantId }))!
  })
}

/**
 * Returns whether a field from which the realm is built has changed. For a FAILED tenant, a field that is given but unchanged is enough,
 * because it requests a retry.
 */
function needsRebuild(tenant: Tenant, fields: Fields, changedFields: (keyof Fields)[]): boolean {
  if (tenant.status === 'FAILED') return realmFields.some((field) => fields[field] !== undefined)
  return realmFields.some((field) => changedFields.includes(field))
}

export async function remove(deps: TenantDeps, tenantId: string, condition: Condition): Promise<void> {
  await deps.kit.db.tx(async (sql) => {
    const tenant = await lockExisting(sql, tenantId)
    checkIfMatch(condition.ifMatch, condition.etag(tenant))
    if (tenant.builtIn) throw BuiltInTenant({ tenantId })
    await setStatus(deps, sql, tenant, 'DELETED')
    await deps.kit.bus.publish(sql, TenantDeleted, { tenantId })
  })
}

async function lockExisting(sql: Sql, tenantId: string): Promise<Tenant> {
  const tenant = await store.lockTenant(sql, tenantId)
  if (!tenant) throw tenantNotFound(tenantId)
  return tenant
}

type Fields = Omit<TenantChange, 'status'>

async function updateFields({ kit: { bus, now } }: TenantDeps, sql: Sql, tenant: Tenant, fields: Fields) {
  const { tenantId } = tenant
  const keys = (Object.keys(fields) as (keyof Fields)[]).filter((key) => fields[key] !== undefined)
  const changed = keys.filter((key) => fields[key] !== tenant[key])
  const newValues = definedFieldsOf(fields, changed) as Partial<Tenant>
  const next = { ...tenant, ...newValues }
  if (changed.length > 0) {
    await store.updateTenant(sql, tenantId, { ...newValues, modified: now() })
    await bus.publish(sql, TenantUpdated, { tenantId, changed: changed.map(requestNameOf) })
  }
  if (changed.includes('subscriptionType')) await insertSubscription(sql, tenantId, next.subscriptionType, now())
  return { next, changed }
}

/** Changes the status of the tenant and of its realm. The status of the realm decides whether users and devices may log in. */
async function setStatus(deps: TenantDeps, sql: Sql, tenant: Tenant, to: TenantStatus) {
  await deps.identity.setRealmStatus(sql, tenant.tenantId, to)
  await setOwnStatus(deps, sql, tenant, to)
}

async function setOwnStatus({ kit }: TenantDeps, sql: Sql, { tenantId, status: from }: Tenant, to: TenantStatus) {
  await store.setStatus(sql, tenantId, { status: to, modified: kit.now() })
  await kit.bus.publish(sql, TenantStatusChanged, { tenantId, from, to })
}

async function changeStatus(deps: TenantDeps, sql: Sql, tenant: Tenant, to: TenantStatus) {
  const { tenantId, status: from, builtIn } = tenant
  if (from === to) return
  if (builtIn) throw BuiltInTenant({ tenantId })
  if (!isAllowed(from, to, 'status')) throw TransitionRejected({ tenantId, from, to })
  await setStatus(deps, sql, tenant, to)
}

/**
 * Enqueues the job that rebuilds the realm. A built-in tenant is rebuilt immediately, so that it cannot become FAILED and lock operators
 * out.
 */
async function rebuild(deps: TenantDeps, sql: Sql, tenant: Tenant) {
  const { tenantId, status: from, builtIn } = tenant
  if (builtIn) {
    await buildRealmOf(sql, deps.identity, tenant)
    return
  }
  if (!isAllowed(from, 'UPDATING', 'rebuild')) throw TransitionRejected({ tenantId, from, to: 'UPDATING' })
  // An unusable template is rejected now, because the job would leave a working tenant FAILED.
  composeRealm(tenant, await findRealmParts(sql, tenant), undefined)
  // The realm keeps its status. Its users and devices are served until the new realm replaces it in one transaction.
  await setOwnStatus(deps, sql, tenant, 'UPDATING')
  await deps.kit.jobs.send(sql, BuildTenant, { tenantId })
}

const isBuilt = ({ status }: Tenant) => status === 'AVAILABLE' || status === 'SUSPENDED' || status === 'DISABLED'
