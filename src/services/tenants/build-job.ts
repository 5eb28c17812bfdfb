/** The job that builds the realm of a tenant. Even after crashes, the tenant ends as AVAILABLE or FAILED. */
import type { Identity } from '../../identity/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { PlatformError } from '../../kernel/errors.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { composeRealm } from './compose-realm.ts'
import { UnusableTemplate } from './errors.ts'
import { TenantAvailable, TenantStatusChanged } from './events.ts'
import { tenantBuildFailed } from './log-messages.ts'
import { isAllowed, type TenantStatus } from './states.ts'
import { findRealmParts, findRoleName } from './store/realm-parts.ts'
import { findSeedChecksum } from './store/seeds.ts'
import * as store from './store/tenants.ts'
import type { Tenant } from './tenant.ts'

/** The 20 retries have pauses of up to 8 s. They take more than two minutes, so a short failure does not make the tenant FAILED. */
export const BuildTenant = defineJob<{ tenantId: string }>('tenants.build', { retries: 20 })

const stuckAfterMinutes = 15

/** Builds the realm. Throws UnusableTemplate for errors that a retry cannot solve. */
export async function buildRealmOf(sql: Sql, identity: Identity, tenant: Tenant) {
  const parts = await findRealmParts(sql, tenant)
  const role = await findRoleName(sql, tenant.userRoles)
  const createsAdmin = tenant.adminId !== null && tenant.adminPasswordSealed !== null
  await identity.buildRealm(sql, composeRealm(tenant, parts, createsAdmin ? role : undefined))
  const checksum = await findSeedChecksum(sql)
  await store.setBuilt(sql, tenant.tenantId, checksum ?? null)
  return { adminRole: role }
}

export function defineBuildJob({ db, bus, jobs, secrets, now, log }: Kit, identity: Identity) {
  /** Builds the realm, creates its administrator and changes the status, in one transaction. */
  async function buildNow(sql: Sql, tenant: Tenant) {
    const { tenantId, status: from, adminPasswordSealed } = tenant
    const { adminRole } = await buildRealmOf(sql, identity, tenant)
    if (tenant.adminId && tenant.adminUsername && adminPasswordSealed)
      await identity.createUser(sql, tenantId, {
        id: tenant.adminId,
        username: tenant.adminUsername,
        ...(tenant.adminEmail !== null && { email: tenant.adminEmail }),
        ...(tenant.adminFirstName !== null && { firstName: tenant.adminFirstName }),
        ...(tenant.adminLastName !== null && { lastName: tenant.adminLastName }),
        password: secrets.open(adminPasswordSealed),
        roles: adminRole === undefined ? [] : [adminRole],
      })
    await changeStatus(sql, tenant, 'AVAILABLE')
    if (from === 'CREATING') await bus.publish(sql, TenantAvailable, { tenantId })
  }

  async function changeStatus(sql: Sql, { tenantId, status: from }: Tenant, to: TenantStatus, statusReason?: string) {
    await store.setStatus(sql, tenantId, { status: to, ...(statusReason && { statusReason }), modified: now() })
    await identity.setRealmStatus(sql, tenantId, to)
    await bus.publish(sql, TenantStatusChanged, { tenantId, from, to })
  }

  /** Locks a tenant that is to be built. Returns undefined if it was deleted or is already built, because a job may run twice. */
  const lockUnbuilt = async (sql: Sql, tenantId: string) => {
    const tenant = await store.lockTenant(sql, tenantId)
    return tenant && isAllowed(tenant.status, 'AVAILABLE', 'build') ? tenant : undefined
  }

  async function markFailed(tenantId: string, error: unknown) {
    // Users get only the texts of errors that the platform defines. Other errors are logged.
    const reason = error instanceof PlatformError ? error.message : 'The realm could not be built; the log says why'
    tenantBuildFailed(log, { err: error, tenantId })
    await db.tx(async (sql) => {
      const tenant = await lockUnbuilt(sql, tenantId)
      if (tenant) await changeStatus(sql, tenant, 'FAILED', reason)
    })
  }

  jobs.handle(BuildTenant, async ({ tenantId }, { last }) => {
    try {
      await db.tx(async (sql) => {
        const tenant = await lockUnbuilt(sql, tenantId)
        if (tenant) await buildNow(sql, tenant)
      })
    } catch (error) {
      if (!last && !UnusableTemplate.is(error)) throw error
      await markFailed(tenantId, error)
    }
  })

  return {
    finish: buildNow,
    /** Enqueues a new job for each tenant whose build stopped, because the node crashed during the job's last attempt. */
    retryStuckBuilds: {
      name: 'tenants.rescue',
      everySeconds: 60,
      async run(sql: Sql) {
        const before = new Date(now().getTime() - stuckAfterMinutes * 60_000)
        for (const tenantId of await store.claimStuckBuilds(sql, before, now(), 100))
          await jobs.send(sql, BuildTenant, { tenantId })
      },
    },
  }
}
