/** Writes one configuration for many endpoints, either for all endpoints or for no endpoint (document 5, 2.2). */
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds, onResource, type Resource } from '../../../kernel/permissions.ts'
import type { ApplicationVersionRef } from '../../applications/contract.ts'
import { applicationResource, type EndpointRef, type Register, selectionPages } from '../../register/contract.ts'
import { NoFilter, NoVersion } from '../errors.ts'
import { ConfigurationUpdated } from '../events.ts'
import { pruneSent } from '../store/cleanup.ts'
import * as store from '../store/configs.ts'
import { belongsToApplicationOf } from './access.ts'
import { type WriteDeps, writeOwn } from './endpoints.ts'
import { type Payload, payloadOf } from './payload.ts'

export interface BatchResult extends store.ConfigRow {
  endpointsCount: number
}

export interface BatchOperations {
  /** Writes the configuration. `endpoints` maps the names of versions to endpoint ids. */
  putAll(ctx: Ctx, name: string, value: unknown, endpoints: Record<string, string[]>): Promise<BatchResult>
  putByFilter(ctx: Ctx, name: string, value: unknown, filterId: string): Promise<BatchResult>
}

interface Deps extends WriteDeps {
  register: Pick<Register, 'find' | 'selectionPage' | 'findFilter' | 'memberSet' | 'memberPage'>
}

const scope = 'endpoint:update'
/** Number of endpoints on a page. Parsing the rows of larger pages would delay other requests. */
const endpointsPerPage = 1000
/** Number of endpoints that one statement writes. Building the parameters for 10,000 endpoints delayed other requests by 18 ms. */
const endpointsPerWrite = 2500

export const createBatchOperations = (deps: Deps): BatchOperations => ({
  async putAll(ctx, name, value, endpoints) {
    const payload = payloadOf(value)
    const targets: store.Target[] = []
    for (const [appVersionName, ids] of Object.entries(endpoints))
      targets.push(await targetOfVersion(deps, ctx, appVersionName, [...new Set(ids)]))
    return await write(deps, ctx, name, payload, targets)
  },
  async putByFilter(ctx, name, value, filterId) {
    const payload = payloadOf(value)
    const application = await applicationOfFilter(deps, ctx, filterId)
    return (
      (await writeInDatabase(deps, ctx, name, payload, { filterId, application })) ??
      (await write(deps, ctx, name, payload, await targetsOfFilter(deps, ctx, filterId)))
    )
  },
})

async function targetOfVersion(
  { applications, register, kit }: Deps,
  ctx: Ctx,
  appVersionName: string,
  ids: string[],
): Promise<store.Target> {
  const notFound = () => NoVersion({ appVersionName })
  const version = await applications.findVersion(appVersionName)
  if (!version || (ids.length === 0 && !isVisible(ctx, version))) throw notFound()
  const { tenantId, applicationName, versionName } = version
  const target: store.Target = { tenantId, applicationName, versionName, endpointIds: [] }
  for await (const page of selectionPages(
    register,
    kit.db.sql,
    ctx,
    { endpointIds: ids },
    { scope, limit: endpointsPerPage },
  )) {
    if (page.rejected[0]) throw page.rejected[0].error
    for (const endpoint of page.endpoints) {
      if (!belongsToApplicationOf(version, endpoint)) throw notFound()
      target.endpointIds.push(endpoint.endpointId)
    }
  }
  return target
}

const isVisible = ({ caller }: Ctx, { tenantId, applicationName }: ApplicationVersionRef) =>
  ['application:read', scope].some((held) =>
    holds(caller, held, onResource(tenantId, applicationResource(applicationName))),
  )

/** Returns the application of the filter. Throws 404 if the caller may not see the filter, and 400 unless the filter is active. */
async function applicationOfFilter({ register }: Deps, ctx: Ctx, filterId: string): Promise<Resource> {
  const filter = await register.findFilter(ctx.tenantId, filterId)
  const application = filter && onResource(ctx.tenantId, applicationResource(filter.applicationName))
  const isReadable = application && readable.some((held) => holds(ctx.caller, held, application))
  if (!filter || !isReadable) throw NoFilter({ filterId })
  if (filter.status !== 'active')
    throw invalidField('filterId', `filter ${filterId} is still being matched; try again when its status is active`)
  return application
}

async function targetsOfFilter({ register, kit }: Deps, ctx: Ctx, filterId: string): Promise<store.Target[]> {
  const targets = new Map<string, store.Target>()
  for await (const page of selectionPages(
    register,
    kit.db.sql,
    ctx,
    { filterId },
    { scope, limit: endpointsPerPage },
  )) {
    if (page.rejected[0]) throw page.rejected[0].error
    for (const { tenantId, applicationName, versionName, endpointId } of page.endpoints) {
      const target = targets.get(versionName) ?? { tenantId, applicationName, versionName, endpointIds: [] }
      target.endpointIds.push(endpointId)
      targets.set(versionName, target)
    }
  }
  return [...targets.values()]
}

/** A caller with any of these scopes on the application may see which filters the application has. */
const readable = ['application:endpoint-filter:read', 'application:read', 'endpoint:read', scope]

/**
 * Maximum number of attempts to write the members of a filter. An attempt is rolled back if it finds members of a version whose schema has
 * not accepted the configuration yet.
 */
const attemptsMax = 3

/**
 * Writes the configuration for the members of a filter without reading their ids, so that ten thousand ids are not parsed while other
 * requests wait. Returns undefined if the ids are needed: for the permissions on single endpoints, for an event, and to find out whether
 * the configuration changes at all.
 */
async function writeInDatabase(
  deps: Deps,
  ctx: Ctx,
  name: string,
  payload: Payload,
  { filterId, application }: { filterId: string; application: Resource },
): Promise<BatchResult | undefined> {
  const { kit, register, schemas } = deps
  const { tenantId } = ctx
  if (!holds(ctx.caller, scope, application) || kit.bus.hasSubscribers(ConfigurationUpdated)) return undefined
  const sample = await register.selectionPage(kit.db.sql, ctx, { filterId }, { scope, limit: 1 })
  const [first] = sample.endpoints
  if (!first) return undefined
  const { applicationName, versionName } = first
  let unchecked = [versionName]
  const checked: string[] = []
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    for (const version of unchecked)
      await schemas.check({ tenantId, applicationName, versionName: version }, payload.config)
    checked.push(...unchecked)
    const written = await writeMembers(deps, tenantId, name, payload, {
      filterId,
      versionNames: checked,
      sample: first,
    })
    if (!Array.isArray(written)) return written
    if (written.length === 0) return undefined
    unchecked = written
  }
  return undefined
}

/** Thrown to roll back a transaction that has found members of versions whose schemas have not accepted the configuration yet. */
class OtherVersions extends Error {
  readonly versionNames: string[]
  constructor(versionNames: string[]) {
    super('the filter has endpoints of versions whose schema is not checked')
    this.versionNames = versionNames
  }
}

interface MembersToWrite {
  filterId: string
  /** Versions whose schema accepts the configuration. */
  versionNames: string[]
  /** One of the members. If it already has the configuration, nothing is written. */
  sample: EndpointRef
}

/**
 * Writes the configuration for all members of the filter in one transaction. If there are members of versions that are not in
 * `versionNames`, writes nothing and returns these versions. If `sample` already has the configuration, writes nothing and returns an empty
 * list.
 */
async function writeMembers(
  { kit, register, pushes }: Deps,
  tenantId: string,
  name: string,
  payload: Payload,
  { filterId, versionNames, sample }: MembersToWrite,
): Promise<BatchResult | string[]> {
  const { applicationName, versionName, endpointId } = sample
  const written = { name, configId: kit.newId(), at: kit.now() }
  const { configId, at } = written
  try {
    return await kit.db.tx(async (sql) => {
      const one = { tenantId, applicationName, versionName, endpointIds: [endpointId] }
      const [, { equal }, memberSet] = await Promise.all([
        store.lockTenant(sql, tenantId),
        store.compareOwn(sql, one, name, payload.digest),
        register.memberSet(sql, tenantId, filterId),
      ])
      if (equal > 0) return []
      await store.insertContent(sql, tenantId, { configId, ...payload })
      let endpointsCount = 0
      for (let after: number | null = 0; after !== null; ) {
        const members = register.memberPage(sql, { tenantId, memberSet, after, limit: endpointsPerWrite })
        const page = await store.writeMembers(sql, members, tenantId, versionNames, written)
        if (page.otherVersions.length > 0) throw new OtherVersions(page.otherVersions)
        const keys = page.grown.map((grown) => ({ tenantId, name, ...grown }))
        if (keys.length > 0) await pruneSent(sql, keys, at)
        endpointsCount += page.count
        after = page.count < endpointsPerWrite ? null : page.last
      }
      // When a filter changes, its members form a new member set. If the member set is still the same, all members were written.
      if ((await register.memberSet(sql, tenantId, filterId)) !== memberSet)
        throw invalidField('filterId', `filter ${filterId} was changed while its endpoints were written`)
      await pushes.batchWritten(sql, { tenantId, configId })
      return { name, configId, config: payload.config, createdDate: at, updatedDate: at, endpointsCount }
    })
  } catch (error) {
    if (error instanceof OtherVersions) return error.versionNames
    throw error
  }
}

async function write(
  deps: Deps,
  ctx: Ctx,
  name: string,
  payload: Payload,
  targets: store.Target[],
): Promise<BatchResult> {
  const { kit, schemas, pushes } = deps
  const [first] = targets
  const tenantId = first?.tenantId ?? ctx.tenantId
  const foreign = targets.find((target) => target.tenantId !== tenantId)
  if (foreign) throw NoVersion({ appVersionName: foreign.versionName })
  for (const target of targets) await schemas.check(target, payload.config)
  const endpointsCount = countOf(targets)
  const configId = kit.newId()
  if (endpointsCount === 0) {
    const at = kit.now()
    return { name, configId, config: payload.config, createdDate: at, updatedDate: at, endpointsCount }
  }
  return await kit.db.tx(async (sql) => {
    await store.lockTenant(sql, tenantId)
    const same = await unchanged(sql, name, payload, targets)
    if (same) {
      const [stored] = await store.findContents(sql, tenantId, [same.configId])
      return { name, config: stored!.config, ...same, endpointsCount }
    }
    const at = kit.now()
    await store.insertContent(sql, tenantId, { configId, ...payload })
    for (const target of inChunks(targets)) await writeOwn(sql, target, { name, configId, at })
    await publish(deps, sql, name, configId, targets)
    await pushes.batchWritten(sql, { tenantId, configId })
    return { name, configId, config: payload.config, createdDate: at, updatedDate: at, endpointsCount }
  })
}

/** Counts endpoints. The endpoints of one target are distinct, but an endpoint may occur in the targets of several versions. */
const countOf = (targets: store.Target[]): number =>
  targets.length === 1
    ? targets[0]!.endpointIds.length
    : new Set(targets.flatMap(({ endpointIds }) => endpointIds)).size

function* inChunks(targets: store.Target[]): Generator<store.Target> {
  for (const target of targets)
    for (let at = 0; at < target.endpointIds.length; at += endpointsPerWrite)
      yield { ...target, endpointIds: target.endpointIds.slice(at, at + endpointsPerWrite) }
}

/** Returns the current configuration of the endpoints, if all endpoints have the same configuration and it equals the payload. */
async function unchanged(sql: Sql, name: string, { digest }: Payload, targets: store.Target[]) {
  // Most batches change something. Checking the first endpoint usually shows this without reading the other endpoints.
  const [first] = targets
  const sample = first && { ...first, endpointIds: first.endpointIds.slice(0, 1) }
  if (sample && (await store.compareOwn(sql, sample, name, digest)).equal < sample.endpointIds.length) return undefined
  let known: { configId: string; createdDate: Date; updatedDate: Date } | undefined
  for (const target of inChunks(targets)) {
    const { equal, kinds, configId, createdDate, updatedDate } = await store.compareOwn(sql, target, name, digest)
    if (configId === null || equal < target.endpointIds.length || kinds > 1) return undefined
    if (known && known.configId !== configId) return undefined
    known ??= { configId, createdDate, updatedDate }
  }
  return known
}

async function publish({ kit: { bus } }: Deps, sql: Sql, name: string, configId: string, targets: store.Target[]) {
  if (!bus.hasSubscribers(ConfigurationUpdated)) return
  for (const { tenantId, versionName, endpointIds } of targets)
    for (const part of splitForEvents(endpointIds))
      await bus.publish(sql, ConfigurationUpdated, { tenantId, versionName, name, configId, endpointIds: part })
}
