/** Writes configurations of applications, versions and tenants. Every configuration is validated with the instance's schema. */
import type { Identity } from '../../../identity/contract.ts'
import { type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Document } from '../../../kernel/document.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { type Entry, readEnvelope, readTenantEnvelope } from '../envelope.ts'
import { AlreadyConfigured, NoVersion } from '../errors.ts'
import { ConfigurationChanged, type ConfigurationEvent } from '../events.ts'
import { requireInstance, runSlowCheck, validateConfiguration } from '../instances/validate.ts'
import { isObject, mergePatch } from '../merge-patch.ts'
import * as store from '../store.ts'
import { requireApplication, requireTenant } from './access.ts'
import type { ApplicationOperations } from './applications.ts'
import {
  type ConfigurationTarget,
  findEnvelope,
  findOne,
  findTenantEnvelope,
  type InstanceTarget,
} from './configuration-documents.ts'

export type ApplicationOrVersion = store.ApplicationOrVersion

export interface TenantConfigurationQuery {
  tenantId: string | undefined
  instances: string[] | undefined
}

interface Deps {
  kit: Pick<Kit, 'db' | 'bus' | 'instances'>
  identity: Identity
  applications: Pick<ApplicationOperations, 'find'>
}

type NewEntry = Pick<Entry, 'instance' | 'config' | 'path'>

/**
 * Runs the checks that take long, before the transaction that locks the application. A caller without permission to write is rejected
 * before these checks.
 */
async function runSlowChecks(
  { kit, applications }: Deps,
  ctx: Ctx,
  applicationName: string,
  entries: () => NewEntry[],
) {
  const application = await applications.find(applicationName)
  const { tenantId } = requireApplication(ctx, applicationName, application, 'application:update')
  for (const { instance, config, path } of entries())
    await runSlowCheck(kit.instances, { tenantId, instance, path }, config)
}

/** Replaces the configuration of every instance that the envelope contains. Other instances keep their configuration. */
export async function replace(
  deps: Deps,
  ctx: Ctx,
  target: ApplicationOrVersion,
  envelope: unknown,
  ifMatch: string | undefined,
) {
  const { kit } = deps
  await runSlowChecks(deps, ctx, target.applicationName, () => readEnvelope(envelope))
  await kit.db.tx(async (sql) => {
    const tenantId = await requireAndLockApplication(ctx, sql, target)
    await requireUnchanged(ifMatch, () => findEnvelope(sql, tenantId, target))
    const entries = readEnvelope(envelope)
    for (const entry of entries) rejectOtherNames(entry, target)
    await requireKnownVersions(sql, target.applicationName, entries)
    for (const entry of entries) await save(kit, sql, tenantId, entry)
  })
}

export async function merge(
  deps: Deps,
  ctx: Ctx,
  { instances, ...target }: ConfigurationTarget,
  patch: unknown,
  ifMatch: string | undefined,
) {
  const { kit } = deps
  // The slow checks read fields with texts. A patch replaces a text as a whole, so it can be checked without the stored configuration.
  const patched = (instances ?? []).map((instance) => ({ instance, config: patch, path: 'body' }))
  await runSlowChecks(deps, ctx, target.applicationName, () => patched)
  await kit.db.tx(async (sql) => {
    const tenantId = await requireAndLockApplication(ctx, sql, target)
    await requireUnchanged(ifMatch, () => findEnvelope(sql, tenantId, { ...target, instances }))
    const [instance, ...others] = instances ?? []
    if (instance === undefined) throw invalidField('serviceInstanceName', 'is required')
    if (others.length > 0) throw invalidField('serviceInstanceName', 'expected exactly one')
    requireInstance(kit.instances, instance, 'serviceInstanceName')
    const { applicationName, versionName } = target
    if (versionName === undefined && isObject(patch) && Object.hasOwn(patch, 'versions'))
      throw invalidField(
        'versions',
        'cannot be set by this operation; change the configuration of each version at the path of the version',
      )
    const [stored] = await store.findConfigurations(sql, { tenantId, ...target, instances: [instance] })
    const config = mergePatch(stored?.config ?? {}, patch)
    await save(kit, sql, tenantId, { instance, applicationName, versionName, config, path: 'body' })
  })
}

/** Replaces the configuration of one instance. The caller passes the new configuration without the envelope. */
export async function replaceOne(
  deps: Deps,
  ctx: Ctx,
  { instance, applicationName, versionName }: InstanceTarget,
  config: unknown,
  ifMatch: string | undefined,
) {
  const { kit } = deps
  await runSlowChecks(deps, ctx, applicationName, () => [{ instance, config, path: 'body' }])
  await kit.db.tx(async (sql) => {
    const tenantId = await requireAndLockApplication(ctx, sql, { applicationName, versionName })
    await requireUnchanged(ifMatch, () => findOne(sql, tenantId, { instance, applicationName, versionName }))
    await save(kit, sql, tenantId, { instance, applicationName, versionName, config, path: 'body' })
  })
}

/** Loads the first configurations. Throws 409 if any configuration exists. */
export async function load({ kit, applications }: Deps, envelope: unknown) {
  const entries = readEnvelope(envelope)
  for (const { applicationName, ...entry } of entries) {
    const tenantId = (await applications.find(applicationName))?.tenantId ?? ''
    await runSlowCheck(kit.instances, { tenantId, ...entry }, entry.config)
  }
  await kit.db.tx(async (sql) => {
    // First the applications are locked in the order of their names, then the table. All writers use this order, which prevents deadlocks.
    const tenantOfApplication = new Map<string, string>()
    for (const { applicationName, path } of entries.toSorted(byApplication)) {
      if (tenantOfApplication.has(applicationName)) continue
      const application = await store.lockApplication(sql, applicationName)
      if (!application) throw invalidField(path, `there is no application ${applicationName}`)
      tenantOfApplication.set(applicationName, application.tenantId)
    }
    if (!(await store.lockConfigurationsIfEmpty(sql))) throw AlreadyConfigured()
    for (const [applicationName, ownEntries] of Map.groupBy(entries, (entry) => entry.applicationName))
      await requireKnownVersions(sql, applicationName, ownEntries)
    for (const entry of entries) await save(kit, sql, tenantOfApplication.get(entry.applicationName)!, entry)
  })
}

export async function replaceForTenant(
  { kit, identity }: Deps,
  ctx: Ctx,
  query: TenantConfigurationQuery,
  envelope: unknown,
  ifMatch: string | undefined,
) {
  const tenantId = requireTenantAccess(ctx, query.tenantId, 'platform:tenant:configuration:update')
  await requireTenant(ctx, tenantId, identity)
  const entries = readTenantEnvelope(envelope, tenantId)
  await kit.db.tx(async (sql) => {
    await store.lockTenantConfigurations(sql, tenantId)
    await requireUnchanged(ifMatch, () => findTenantEnvelope(sql, tenantId, query.instances))
    for (const { instance, config, path } of entries) {
      if (query.instances && !query.instances.includes(instance))
        throw invalidField(path, 'is not named by the parameter serviceInstanceName')
      validateConfiguration(kit.instances, { instance, level: 'tenant', path }, config)
      const changed = await store.saveTenantConfiguration(sql, { tenantId, instance, config })
      if (changed) await kit.bus.publish(sql, ConfigurationChanged, { tenantId, instance, level: 'tenant' })
    }
  })
}

/** Throws 412 if the stored configuration is not the one that the caller has read at the same address. The caller must hold its lock. */
async function requireUnchanged(ifMatch: string | undefined, find: () => Promise<Document>) {
  if (ifMatch) checkIfMatch(ifMatch, (await find()).etag)
}

export async function requireVersion(sql: Sql, { applicationName, versionName }: ApplicationOrVersion) {
  if (versionName !== undefined && !(await store.findVersion(sql, applicationName, versionName)))
    throw NoVersion({ name: versionName })
}

/** Validates and saves one configuration. The caller must have locked the application. */
async function save({ bus, instances }: Deps['kit'], sql: Sql, tenantId: string, entry: Entry) {
  const { instance, applicationName, versionName, config, path } = entry
  const level = versionName === undefined ? 'application' : 'version'
  validateConfiguration(instances, { instance, level, path }, config)
  const changed = await store.saveConfiguration(sql, { tenantId, applicationName, versionName, instance, config })
  if (!changed) return
  const event: ConfigurationEvent = { tenantId, instance, level, applicationName }
  await bus.publish(sql, ConfigurationChanged, versionName === undefined ? event : { ...event, versionName })
}

/** Checks the permission and locks the application. Returns its tenant. */
async function requireAndLockApplication(
  ctx: Ctx,
  sql: Sql,
  { applicationName, versionName }: ApplicationOrVersion,
): Promise<string> {
  const locked = await store.lockApplication(sql, applicationName)
  const { tenantId } = requireApplication(ctx, applicationName, locked, 'application:update')
  await requireVersion(sql, { applicationName, versionName })
  return tenantId
}

/** Throws 400 for an unknown version inside the envelope. An unknown version in the URL is a 404. */
async function requireKnownVersions(sql: Sql, applicationName: string, entries: Entry[]) {
  if (entries.every(({ versionName }) => versionName === undefined)) return
  const versionNames = new Set((await store.findVersions(sql, applicationName)).map(({ name }) => name))
  for (const { versionName, path } of entries)
    if (versionName !== undefined && !versionNames.has(versionName))
      throw invalidField(path, `${applicationName} has no version ${versionName}`)
}

const byApplication = (a: Entry, b: Entry) => (a.applicationName < b.applicationName ? -1 : 1)

/** Throws 400 for an entry of an application or version that the URL does not name. */
function rejectOtherNames(entry: Entry, { applicationName, versionName }: ApplicationOrVersion) {
  if (entry.applicationName !== applicationName)
    throw invalidField(entry.path, `expected only the application ${applicationName}`)
  if (versionName !== undefined && entry.versionName !== versionName)
    throw invalidField(entry.path, `expected only versions.${versionName}`)
}
