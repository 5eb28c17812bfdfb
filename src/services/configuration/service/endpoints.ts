/** Configurations of single endpoints. They take precedence over the defaults of their version. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { NoConfiguration } from '../errors.ts'
import { ConfigurationUpdated } from '../events.ts'
import { pruneSent } from '../store/cleanup.ts'
import * as store from '../store/configs.ts'
import { type AccessDeps, endpointInVersion } from './access.ts'
import { payloadOf, type SchemaOperations } from './payload.ts'
import type { Pushes } from './pushes.ts'

export interface WriteDeps extends AccessDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'log'>
  schemas: SchemaOperations
  pushes: Pushes
}

export interface ConfigurationRequest {
  endpointId: string
  appVersionName: string
  name: string
}

export interface EndpointOperations {
  put(ctx: Ctx, request: ConfigurationRequest, value: unknown, ifMatch: string | undefined): Promise<store.ConfigRow>
  /** Returns the endpoint's own configuration, otherwise the default of the version. */
  get(ctx: Ctx, request: ConfigurationRequest): Promise<store.ConfigRow>
  delete(ctx: Ctx, request: ConfigurationRequest, ifMatch: string | undefined): Promise<void>
  /** Yields the endpoint's own configurations, ordered by name. */
  list(ctx: Ctx, query: Omit<ConfigurationRequest, 'name'>): Promise<AsyncIterable<store.ConfigRow>>
}

export const createEndpointOperations = (deps: WriteDeps): EndpointOperations => ({
  put: (ctx, request, value, ifMatch) => put(deps, ctx, request, value, ifMatch),
  async get(ctx, request) {
    const { endpoint, versionName } = await endpointInVersion(deps, ctx, request, 'endpoint:read')
    const { tenantId, endpointId } = endpoint
    const found = await store.findEffective(deps.kit.db.sql, { tenantId, endpointId, versionName, name: request.name })
    if (!found) throw NoConfiguration({ name: request.name, appVersionName: versionName })
    return found
  },
  delete: (ctx, request, ifMatch) => remove(deps, ctx, request, ifMatch),
  async list(ctx, query) {
    const { endpoint, versionName } = await endpointInVersion(deps, ctx, query, 'endpoint:read')
    const { tenantId, endpointId } = endpoint
    const { sql } = deps.kit.db
    return allNames((after) =>
      store.findOwnAfter(sql, { tenantId, endpointId, versionName, after, limit: namesPerPage }),
    )
  },
})

/** Number of configurations that are read at a time. A configuration can have up to a megabyte. */
const namesPerPage = 16

export async function* allNames(find: (after: string) => Promise<store.ConfigRow[]>): AsyncGenerator<store.ConfigRow> {
  for (let after = ''; ; ) {
    const page = await find(after)
    yield* page
    const last = page.at(-1)
    if (!last || page.length < namesPerPage) return
    after = last.name
  }
}

export const etagOfConfig = (configId: string) => `"${configId}"`

async function put(
  deps: WriteDeps,
  ctx: Ctx,
  request: ConfigurationRequest,
  value: unknown,
  ifMatch: string | undefined,
): Promise<store.ConfigRow> {
  const { kit, schemas, pushes } = deps
  const { endpoint, versionName } = await endpointInVersion(deps, ctx, request, 'endpoint:update')
  const { tenantId, applicationName, endpointId } = endpoint
  const payload = payloadOf(value)
  await schemas.check({ tenantId, applicationName, versionName }, payload.config)
  const { name } = request
  const key = { tenantId, endpointId, versionName, name }
  return await kit.db.tx(async (sql) => {
    const [, old] = await Promise.all([store.lockEndpoint(sql, key), store.findOwn(sql, key)])
    checkIfMatch(ifMatch, old && etagOfConfig(old.configId))
    if (old?.digest === payload.digest) return (await store.findEffective(sql, key))!
    const at = kit.now()
    const configId = kit.newId()
    const target = { tenantId, applicationName, versionName, endpointIds: [endpointId] }
    await store.insertContent(sql, tenantId, { configId, ...payload })
    await writeOwn(sql, target, { name, configId, at })
    await publishUpdated(deps, sql, { tenantId, versionName, name, configId, endpointIds: [endpointId] })
    // A device uses only the configuration of its current version.
    if (versionName === endpoint.versionName) await pushes.endpointChanged(sql, key)
    else kit.log.debug({ endpointId, name, reason: 'other_version' }, 'configuration not pushed')
    return { name, configId, config: payload.config, createdDate: old?.createdDate ?? at, updatedDate: at }
  })
}

/** Writes the configuration for all endpoints of the target, and prunes their histories. */
export async function writeOwn(sql: Sql, target: store.Target, written: store.Written) {
  const grown = await store.writeOwn(sql, target, written)
  const { tenantId, versionName } = target
  const { name, at } = written
  const keys = grown.map((endpointId) => ({ tenantId, endpointId, versionName, name }))
  if (keys.length > 0) await pruneSent(sql, keys, at)
}

export async function publishUpdated(
  { kit: { bus } }: Pick<WriteDeps, 'kit'>,
  sql: Sql,
  payload: Parameters<typeof bus.publish<Updated>>[2],
) {
  if (bus.hasSubscribers(ConfigurationUpdated)) await bus.publish(sql, ConfigurationUpdated, payload)
}
type Updated = Parameters<typeof ConfigurationUpdated.key>[0]

async function remove(deps: WriteDeps, ctx: Ctx, request: ConfigurationRequest, ifMatch: string | undefined) {
  const { kit, pushes } = deps
  const { endpoint, versionName } = await endpointInVersion(deps, ctx, request, 'endpoint:delete')
  const { tenantId, endpointId } = endpoint
  const { name } = request
  const key = { tenantId, endpointId, versionName, name }
  await kit.db.tx(async (sql) => {
    const [, old] = await Promise.all([store.lockEndpoint(sql, key), store.findOwn(sql, key)])
    checkIfMatch(ifMatch, old && etagOfConfig(old.configId))
    if (!old) return
    const at = kit.now()
    await store.deleteOwn(sql, key, at)
    await pruneSent(sql, [key], at)
    await publishUpdated(deps, sql, { tenantId, versionName, name, endpointIds: [endpointId] })
    // The default becomes effective. Without a default, nothing is pushed.
    if (versionName === endpoint.versionName) await pushes.endpointChanged(sql, key)
  })
}
