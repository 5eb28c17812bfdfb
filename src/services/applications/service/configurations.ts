import type { Identity } from '../../../identity/contract.ts'
import { type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Document } from '../../../kernel/document.ts'
import type { Caches } from '../cache.ts'
import type { Applications } from '../contract.ts'
import { type StoredEntry, writeWholeEnvelope } from '../envelope.ts'
import * as store from '../store.ts'
import { requireApplication } from './access.ts'
import type { ApplicationOperations } from './applications.ts'
import {
  type ConfigurationTarget,
  findEnvelope,
  findOne,
  findTenantEnvelope,
  type InstanceTarget,
} from './configuration-documents.ts'
import { effectiveConfiguration, effectiveTenantConfiguration } from './configuration-effective.ts'
import * as writes from './configuration-writes.ts'
import { type ApplicationOrVersion, requireVersion, type TenantConfigurationQuery } from './configuration-writes.ts'

export interface ConfigurationOperations {
  /** Replaces the configuration of every instance that the envelope contains. Other instances keep their configuration. */
  replace(ctx: Ctx, target: ApplicationOrVersion, envelope: unknown, ifMatch: string | undefined): Promise<void>
  merge(ctx: Ctx, target: ConfigurationTarget, patch: unknown, ifMatch: string | undefined): Promise<void>
  read(ctx: Ctx, target: ConfigurationTarget): Promise<Document>
  /** Replaces the configuration of one instance, without the envelope. */
  replaceOne(ctx: Ctx, target: InstanceTarget, config: unknown, ifMatch: string | undefined): Promise<void>
  /** Returns the configuration of one instance, without the envelope. Returns `{}` if there is no configuration. */
  readOne(ctx: Ctx, target: InstanceTarget): Promise<Document>
  /** Loads the first configurations. Throws 409 if any configuration exists. */
  load(envelope: unknown): Promise<void>
  exportAll(selection: ConfigurationSelection): AsyncIterable<string>
  replaceForTenant(
    ctx: Ctx,
    query: TenantConfigurationQuery,
    envelope: unknown,
    ifMatch: string | undefined,
  ): Promise<void>
  readForTenant(ctx: Ctx, query: TenantConfigurationQuery): Promise<Document>
  /** Returns the effective configuration of a version, or of the application if no version is given. */
  effective: Applications['configuration']
  effectiveForTenant: Applications['tenantConfiguration']
}

interface ConfigurationSelection {
  instances: string[] | undefined
  applicationNames?: string[] | undefined
}

export interface ConfigurationDeps {
  kit: Kit
  identity: Identity
  applications: ApplicationOperations
  caches: Caches
}

export function createConfigurationOperations(deps: ConfigurationDeps): ConfigurationOperations {
  return {
    replace: (ctx, target, envelope, ifMatch) => writes.replace(deps, ctx, target, envelope, ifMatch),
    merge: (ctx, target, patch, ifMatch) => writes.merge(deps, ctx, target, patch, ifMatch),
    read: (ctx, target) => read(deps, ctx, target),
    replaceOne: (ctx, target, config, ifMatch) => writes.replaceOne(deps, ctx, target, config, ifMatch),
    readOne: (ctx, target) => readOne(deps, ctx, target),
    load: (envelope) => writes.load(deps, envelope),
    exportAll: (selection) => writeWholeEnvelope(readAllRows(deps, selection)),
    replaceForTenant: (ctx, query, envelope, ifMatch) => writes.replaceForTenant(deps, ctx, query, envelope, ifMatch),
    readForTenant: (ctx, query) => readForTenant(deps, ctx, query),
    effective: (query) => effectiveConfiguration(deps, query),
    effectiveForTenant: (query) => effectiveTenantConfiguration(deps, query),
  }
}

async function read(
  { kit: { db }, applications }: ConfigurationDeps,
  ctx: Ctx,
  target: ConfigurationTarget,
): Promise<Document> {
  const { applicationName } = target
  const { tenantId } = requireApplication(ctx, applicationName, await applications.find(applicationName))
  await requireVersion(db.sql, target)
  return await findEnvelope(db.sql, tenantId, target)
}

async function readOne(
  { kit: { db }, applications }: ConfigurationDeps,
  ctx: Ctx,
  target: InstanceTarget,
): Promise<Document> {
  const { applicationName } = target
  const { tenantId } = requireApplication(ctx, applicationName, await applications.find(applicationName))
  await requireVersion(db.sql, target)
  return await findOne(db.sql, tenantId, target)
}

async function readForTenant(
  { kit: { db } }: ConfigurationDeps,
  ctx: Ctx,
  { tenantId: requested, instances }: TenantConfigurationQuery,
): Promise<Document> {
  const tenantId = requireTenantAccess(ctx, requested, 'platform:tenant:configuration:read')
  return await findTenantEnvelope(db.sql, tenantId, instances)
}

async function* readAllRows({ kit: { db } }: ConfigurationDeps, selection: ConfigurationSelection) {
  let after: StoredEntry | undefined
  for (;;) {
    const page = await store.findAllConfigurations(db.sql, selection, after)
    yield* page
    after = page.at(-1)
    if (!after) return
  }
}
