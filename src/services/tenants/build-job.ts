/** The job that builds realms: it ends in AVAILABLE or FAILED, however often it is interrupted. */
import type { Identity } from '../../identity/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { PlatformError } from '../../kernel/errors.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { UnusableTemplate } from './errors.ts'
import { TenantAvailable, TenantStatusChanged } from './events.ts'
import { composeRealm } from './realm.ts'
import { mayMove, type TenantStatus } from './states.ts'
import { findRealmParts, findRoleName } from './store/realm-parts.ts'
import { findSeedChecksum } from './store/seeds.ts'
import * as store from './store/tenants.ts'
import type { Tenant } from './tenant.ts'

/** 20 retries with pauses that grow to 8 s bridge more than two minutes of trouble. */
export const BuildTenant = defineJob<{ tenantId: string }>('tenants.build', { retries: 20 })

const stuckAfterMinutes = 15

/** Throws UnusableTemplate for what no repetition can mend. */
export async function buildRealmOf(sql: Sql, identity: Identity, tenant: Tenant) {
  const parts = await findRealmParts(sql, tenant)
  const role = await findRoleName(sql, tenant.userRoles)
  const makesAdmin = tenant.adminId !== null && tenant.adminPasswordSealed !== null
  await identity.buildRealm(sql, composeRealm(tenant, parts, makesAdmin ? role : undefined))
  const checksum = await findSeedChecksum(sql)
  await store.setBuilt(sql, tenant.tenantId, checksum ?? null)
  return { adminRole: role }
}

export function defineBuilding({ db, bus, jobs, secrets, now, log }: Kit, identity: Identity) {
  /** The realm, its administrator and the status: together or not at all. */
  async function finish(sql: Sql, tenant: Tenant) {
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
    await move(sql, tenant, 'AVAILABLE')
    if (from === 'CREATING') await bus.publish(sql, TenantAvailable, { tenantId })
  }

  async function move(sql: Sql, { tenantId, status: from }: Tenant, to: TenantStatus, statusReason?: string) {
    await store.setStatus(sql, tenantId, { status: to, ...(statusReason && { statusReason }), modified: now() })
    await identity.setRealmStatus(sql, tenantId, to)
    await bus.publish(sql, TenantStatusChanged, { tenantId, from, to })
  }

  /** A tenant that was deleted or finished meanwhile is left alone: the job may come twice. */
  const inBuilding = async (sql: Sql, tenantId: string) => {
    const tenant = await store.lockTenant(sql, tenantId)
    return tenant && mayMove(tenant.status, 'AVAILABLE', 'build') ? tenant : undefined
  }

  async function giveUp(tenantId: string, error: unknown) {
    // Only what we worded ourselves is shown; the rest is for the log.
    const reason = error instanceof PlatformError ? error.message : 'The realm could not be built; the log says why'
    log.error({ err: error, tenantId }, 'the tenant is FAILED: its realm could not be built')
    await db.tx(async (sql) => {
      const tenant = await inBuilding(sql, tenantId)
      if (tenant) await move(sql, tenant, 'FAILED', reason)
    })
  }

  jobs.handle(BuildTenant, async ({ tenantId }, { last }) => {
    try {
      await db.tx(async (sql) => {
        const tenant = await inBuilding(sql, tenantId)
        if (tenant) await finish(sql, tenant)
      })
    } catch (error) {
      if (!last && !UnusableTemplate.is(error)) throw error
      await giveUp(tenantId, error)
    }
  })

  return {
    finish,
    /** A process that dies in the last attempt leaves nobody to give up: such tenants get a new job. */
    rescue: {
      name: 'tenants.rescue',
      everySeconds: 60,
      async run(sql: Sql) {
        const before = new Date(now().getTime() - stuckAfterMinutes * 60_000)
        for (const tenantId of await store.takeStuck(sql, before, now(), 100))
          await jobs.send(sql, BuildTenant, { tenantId })
      },
    },
  }
}
