/**
 * Built-in roles and scopes of this release. The first start of a release inserts the roles and scopes that are new in this release. A job
 * then updates the existing realms in batches, so that many realms do not delay the start.
 */
import { createHash } from 'node:crypto'
import { type BuiltInRole, builtInRoles, type Identity } from '../../identity/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { buildRealmOf } from './build-job.ts'
import { UnusableTemplate } from './errors.ts'
import { realmNotUpdated } from './log-messages.ts'
import * as seeding from './store/seeds.ts'
import * as store from './store/tenants.ts'

const RefreshRealms = defineJob<{ after: string }>('tenants.refresh', { parallel: 1 })
const realmsPerBatch = 20

export function defineSeeding(kit: Kit, identity: Identity) {
  const { db, jobs, log } = kit

  jobs.handle(RefreshRealms, async ({ after }) => {
    const checksum = await seeding.findSeedChecksum(db.sql)
    const outdated = await store.findTenantsWithOldSeeds(db.sql, checksum ?? '', after, realmsPerBatch)
    for (const tenantId of outdated) await refresh(tenantId)
    const last = outdated.at(-1)
    if (last !== undefined) await db.tx((sql) => jobs.send(sql, RefreshRealms, { after: last }))
  })

  async function refresh(tenantId: string) {
    try {
      await db.tx(async (sql) => {
        const tenant = await store.lockTenant(sql, tenantId)
        if (tenant) await buildRealmOf(sql, identity, tenant)
      })
    } catch (error) {
      // The realm stays unchanged, and the job continues with the other tenants.
      if (!UnusableTemplate.is(error)) throw error
      realmNotUpdated(log, { err: error, tenantId })
    }
  }

  return {
    async seed() {
      const seeds = seedsOf(kit.scopes)
      const checksum = createHash('sha256').update(JSON.stringify(seeds)).digest('hex')
      if ((await seeding.findSeedChecksum(db.sql)) === checksum) return
      await db.tx(async (sql) => {
        await seeding.lockSeeds(sql)
        if ((await seeding.findSeedChecksum(sql)) === checksum) return
        await seeding.insertDefaults(sql, newSeeds(seeds, await seeding.insertSeeds(sql, itemsOf(seeds))))
        await seeding.setSeedChecksum(sql, checksum)
        await jobs.send(sql, RefreshRealms, { after: '' })
      })
    },
  }
}

export function seedsOf(declared: Kit['scopes']): seeding.Seeds {
  const roles = Object.entries(builtInRoles) as [BuiltInRole, string][]
  const scopes = [...declared.keys()]
  return {
    roles: roles.map(([name, description]) => ({
      name,
      description,
      heldOn: name === 'platform-admin' ? 'platform' : 'tenant',
    })),
    roleVersions: roles.map(([role]) => ({ version: 1, role })),
    scopes,
    roleScopes: scopes.flatMap((scope) => [...declared.get(scope)!, 'platform-admin'].map((role) => ({ role, scope }))),
    // These are the scopes that users of a tenant can have.
    resourceScopes: scopes
      .filter((scope) => declared.get(scope)!.length > 0)
      .map((scope) => ({ resource: 'tenant-system', scope })),
  }
}

const itemName = {
  roles: ({ name }: { name: string }) => `role ${name}`,
  roleVersions: ({ version, role }: { version: number; role: string }) => `role version ${version} ${role}`,
  scopes: (scope: string) => `scope ${scope}`,
  roleScopes: ({ role, scope }: { role: string; scope: string }) => `role scope ${role} ${scope}`,
  resourceScopes: ({ resource, scope }: { resource: string; scope: string }) => `resource scope ${resource} ${scope}`,
}

const itemsOf = (seeds: seeding.Seeds): string[] => [
  ...seeds.roles.map(itemName.roles),
  ...seeds.roleVersions.map(itemName.roleVersions),
  ...seeds.scopes.map(itemName.scopes),
  ...seeds.roleScopes.map(itemName.roleScopes),
  ...seeds.resourceScopes.map(itemName.resourceScopes),
]

const newSeeds = (seeds: seeding.Seeds, newItems: Set<string>): seeding.Seeds => ({
  roles: seeds.roles.filter((role) => newItems.has(itemName.roles(role))),
  roleVersions: seeds.roleVersions.filter((mapping) => newItems.has(itemName.roleVersions(mapping))),
  scopes: seeds.scopes.filter((scope) => newItems.has(itemName.scopes(scope))),
  roleScopes: seeds.roleScopes.filter((mapping) => newItems.has(itemName.roleScopes(mapping))),
  resourceScopes: seeds.resourceScopes.filter((mapping) => newItems.has(itemName.resourceScopes(mapping))),
})
