import type { Identity } from '../../../identity/contract.ts'
import type { ConfigurationInstance } from '../../../kernel/configuration.ts'
import { type ReadConfiguration, readConfiguration } from '../../../kernel/configuration-reader.ts'
import { type Ctx, tenantOf } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications } from '../contract.ts'
import {
  type Entry,
  readEnvelope,
  readTenantEnvelope,
  type StoredEntry,
  writeEnvelope,
  writeTenantEnvelope,
  writeWholeEnvelope,
} from '../envelope.ts'
import { AlreadyConfigured, NoVersion } from '../errors.ts'
import { ConfigurationChanged, type ConfigurationEvent } from '../events.ts'
import { knownInstance, validateConfiguration } from '../instances/validate.ts'
import { type LevelConfigurations, type Memory, placeKey } from '../memory.ts'
import { isObject, mergePatch } from '../merge-patch.ts'
import * as store from '../store.ts'
import { permitted, requireTenant } from './access.ts'
import type { ApplicationRules } from './applications.ts'

type Config = Record<string, unknown>
type Place = store.ConfigurationPlace

export interface ConfigurationRules {
  /** The configuration of every instance that the envelope names; the others stay. */
  replace(ctx: Ctx, place: Place, envelope: unknown): Promise<void>
  merge(ctx: Ctx, place: Place & { instances: string[] | undefined }, patch: unknown): Promise<void>
  read(ctx: Ctx, place: Place & { instances: string[] | undefined }): Promise<Document>
  /** Of one instance, without the envelope; nothing is configured: `{}`. */
  replaceOne(ctx: Ctx, place: Place & { instance: string }, config: unknown): Promise<void>
  readOne(ctx: Ctx, place: Place & { instance: string }): Promise<Document>
  /** The initial load, for a platform where nothing is configured. */
  load(envelope: unknown): Promise<void>
  all(of: { instances: string[] | undefined; applicationNames?: string[] | undefined }): AsyncIterable<string>
  replaceForTenant(ctx: Ctx, of: TenantPlace, envelope: unknown): Promise<void>
  readForTenant(ctx: Ctx, of: TenantPlace): Promise<Document>
  /** In force for a version, or for the application when none is named. */
  effective: Applications['configuration']
  effectiveForTenant: Applications['tenantConfiguration']
}

interface TenantPlace {
  tenantId: string | undefined
  instances: string[] | undefined
}

const nothing: Config = Object.freeze({})

export function createConfigurationRules(
  { db, bus, log, instances: known }: Kit,
  identity: Identity,
  applications: ApplicationRules,
  memory: Memory,
): ConfigurationRules {
  const levelOf = ({ versionName }: Place) => (versionName === undefined ? 'application' : 'version')

  /** The application is locked by whoever calls. */
  async function save(sql: Sql, tenantId: string, entry: Entry) {
    const { instance, applicationName, versionName, config, path } = entry
    const level = levelOf(entry)
    validateConfiguration(known, { instance, level, path }, config)
    const changed = await store.saveConfiguration(sql, { tenantId, applicationName, versionName, instance, config })
    if (!changed) return
    const event: ConfigurationEvent = { tenantId, instance, level, applicationName }
    await bus.publish(sql, ConfigurationChanged, versionName === undefined ? event : { ...event, versionName })
  }

  async function lockPlace(ctx: Ctx, sql: Sql, { applicationName, versionName }: Place) {
    const locked = await store.lockApplication(sql, applicationName)
    const { tenantId } = permitted(ctx, applicationName, locked, 'application:update')
    await requireVersion(sql, { applicationName, versionName })
    return tenantId
  }

  async function requireVersion(sql: Sql, { applicationName, versionName }: Place) {
    if (versionName !== undefined && !(await store.findVersion(sql, applicationName, versionName)))
      throw NoVersion({ name: versionName })
  }

  /** A name inside an envelope that does not exist is a mistake in the body, not a missing address. */
  async function checkVersions(sql: Sql, applicationName: string, entries: Entry[]) {
    if (entries.every(({ versionName }) => versionName === undefined)) return
    const known = new Set((await store.findVersions(sql, applicationName)).map(({ name }) => name))
    for (const { versionName, path } of entries)
      if (versionName !== undefined && !known.has(versionName))
        throw invalidField(path, `${applicationName} has no version ${versionName}`)
  }

  const level = async (place: { tenantId: string; applicationName?: string; versionName?: string }) =>
    (await memory.configurations.read(placeKey(place), async () => {
      const { tenantId, applicationName, versionName } = place
      const rows =
        applicationName === undefined
          ? await store.findTenantConfigurations(db.sql, { tenantId })
          : await store.findConfigurations(db.sql, { tenantId, applicationName, versionName })
      return frozen(rows)
    })) ?? new Map<string, Config>()

  async function* rows(of: { instances: string[] | undefined; applicationNames?: string[] | undefined }) {
    let after: StoredEntry | undefined
    for (;;) {
      const page = await store.findAllConfigurations(db.sql, of, after)
      yield* page
      after = page.at(-1)
      if (!after) return
    }
  }

  return {
    async replace(ctx, place, envelope) {
      await db.tx(async (sql) => {
        const tenantId = await lockPlace(ctx, sql, place)
        const entries = readEnvelope(envelope)
        for (const entry of entries) checkPlace(entry, place)
        await checkVersions(sql, place.applicationName, entries)
        for (const entry of entries) await save(sql, tenantId, entry)
      })
    },

    async merge(ctx, { instances, ...place }, patch) {
      await db.tx(async (sql) => {
        const tenantId = await lockPlace(ctx, sql, place)
        const [instance, ...others] = instances ?? []
        if (instance === undefined) throw invalidField('serviceInstanceName', 'is required')
        if (others.length > 0) throw invalidField('serviceInstanceName', 'expected exactly one')
        knownInstance(known, instance, 'serviceInstanceName')
        const { applicationName, versionName } = place
        if (versionName === undefined && isObject(patch) && Object.hasOwn(patch, 'versions'))
          throw invalidField('versions', 'is kept for the versions: change each at its own address')
        const [stored] = await store.findConfigurations(sql, { tenantId, ...place, instances: [instance] })
        const config = mergePatch(stored?.config ?? {}, patch)
        await save(sql, tenantId, { instance, applicationName, versionName, config, path: 'body' })
      })
    },

    async read(ctx, { instances, applicationName, versionName }) {
      const { tenantId } = permitted(ctx, applicationName, await applications.find(applicationName))
      await requireVersion(db.sql, { applicationName, versionName })
      const found = await store.findConfigurations(db.sql, { tenantId, applicationName, versionName, instances })
      return documentOf(writeEnvelope(found, { applicationName, versionName }))
    },

    async replaceOne(ctx, { instance, applicationName, versionName }, config) {
      await db.tx(async (sql) => {
        const tenantId = await lockPlace(ctx, sql, { applicationName, versionName })
        await save(sql, tenantId, { instance, applicationName, versionName, config, path: 'body' })
      })
    },

    async readOne(ctx, { instance, applicationName, versionName }) {
      const { tenantId } = permitted(ctx, applicationName, await applications.find(applicationName))
      await requireVersion(db.sql, { applicationName, versionName })
      const of = { tenantId, applicationName, versionName, instances: [instance] }
      const [found] = await store.findConfigurations(db.sql, of)
      return documentOf(JSON.stringify(found?.config ?? {}))
    },

    async load(envelope) {
      const entries = readEnvelope(envelope)
      await db.tx(async (sql) => {
        // Applications first and in order, then the table, as every other writer does: nobody waits in a circle.
        const tenants = new Map<string, string>()
        for (const { applicationName, path } of entries.toSorted(byApplication)) {
          if (tenants.has(applicationName)) continue
          const application = await store.lockApplication(sql, applicationName)
          if (!application) throw invalidField(path, `there is no application ${applicationName}`)
          tenants.set(applicationName, application.tenantId)
        }
        if (!(await store.lockEmptyConfigurations(sql))) throw AlreadyConfigured()
        for (const [applicationName, own] of Map.groupBy(entries, (entry) => entry.applicationName))
          await checkVersions(sql, applicationName, own)
        for (const entry of entries) await save(sql, tenants.get(entry.applicationName)!, entry)
      })
    },

    all: (of) => writeWholeEnvelope(rows(of)),

    async replaceForTenant(ctx, of, envelope) {
      const tenantId = tenantOf(ctx, of.tenantId, 'platform:tenant:configuration:update')
      await requireTenant(ctx, tenantId, identity)
      const entries = readTenantEnvelope(envelope, tenantId)
      await db.tx(async (sql) => {
        for (const { instance, config, path } of entries) {
          if (of.instances && !of.instances.includes(instance))
            throw invalidField(path, 'is not one of serviceInstanceName')
          validateConfiguration(known, { instance, level: 'tenant', path }, config)
          const changed = await store.saveTenantConfiguration(sql, { tenantId, instance, config })
          if (changed) await bus.publish(sql, ConfigurationChanged, { tenantId, instance, level: 'tenant' })
        }
      })
    },

    async readForTenant(ctx, { tenantId: requested, instances }) {
      const tenantId = tenantOf(ctx, requested, 'platform:tenant:configuration:read')
      const found = await store.findTenantConfigurations(db.sql, { tenantId, instances })
      return documentOf(writeTenantEnvelope(found, tenantId))
    },

    async effective<C>({ tenantId, instance, applicationName, versionName }: Asked<C>) {
      const base = (await level({ tenantId, applicationName })).get(instance.name)
      const over =
        versionName === undefined
          ? undefined
          : (await level({ tenantId, applicationName, versionName })).get(instance.name)
      const stored = base && over ? { ...base, ...over } : (over ?? base ?? nothing)
      return readConfiguration(instance, 'application', stored) as ReadConfiguration<C>
    },

    async effectiveForTenant<T>({
      tenantId,
      instance,
    }: {
      tenantId: string
      instance: ConfigurationInstance<unknown, T>
    }) {
      const stored = (await level({ tenantId })).get(instance.name) ?? nothing
      const { config, problems } = readConfiguration(instance, 'tenant', stored)
      if (problems.length > 0)
        log.warn({ tenantId, instance: instance.name, problems }, 'invalid parts of a configuration are ignored')
      return config as T
    },
  }
}

interface Asked<C> {
  tenantId: string
  instance: ConfigurationInstance<C>
  applicationName: string
  versionName?: string
}

const byApplication = (a: Entry, b: Entry) => (a.applicationName < b.applicationName ? -1 : 1)

/** A write at one address changes that address; an application's may hold its versions too. */
function checkPlace(entry: Entry, { applicationName, versionName }: Place) {
  if (entry.applicationName !== applicationName)
    throw invalidField(entry.path, `expected only the application ${applicationName}`)
  if (versionName !== undefined && entry.versionName !== versionName)
    throw invalidField(entry.path, `expected only versions.${versionName}`)
}

/** Shared by all who ask, so nobody may write into it. */
const frozen = (rows: { instance: string; config: Config }[]): LevelConfigurations =>
  new Map(rows.map(({ instance, config }) => [instance, freeze(config)]))

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
