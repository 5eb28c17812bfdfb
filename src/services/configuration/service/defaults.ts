/** Default configurations of versions. */
import type { Ctx } from '../../../kernel/contract.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { schemaLengthMax, schemaProblems, type Violations, violationText } from '../../../kernel/json-schema.ts'
import { NoConfiguration, NoSchema, SchemaInvalid, SchemaUnusable } from '../errors.ts'
import * as store from '../store/configs.ts'
import { permittedVersion } from './access.ts'
import { allNames, etagOfConfig, publishUpdated, type WriteDeps } from './endpoints.ts'
import { detailsOf, payloadOf } from './payload.ts'

export interface DefaultRequest {
  appVersionName: string
  name: string
}

export interface DefaultOperations {
  put(ctx: Ctx, request: DefaultRequest, value: unknown, ifMatch: string | undefined): Promise<store.ConfigRow>
  get(ctx: Ctx, request: DefaultRequest): Promise<store.ConfigRow>
  delete(ctx: Ctx, request: DefaultRequest, ifMatch: string | undefined): Promise<void>
  list(ctx: Ctx, appVersionName: string): Promise<AsyncIterable<store.ConfigRow>>
  /** Returns the schema of the version. If the version has no schema, returns the schema of its application. */
  schema(ctx: Ctx, appVersionName: string): Promise<Record<string, unknown>>
  /** Throws 422 if the schema cannot be used. */
  validateSchema(ctx: Ctx, appVersionName: string, schema: unknown): Promise<void>
}

const read = 'application:endpoint-config:read'
/** A caller that holds one of these scopes gets 403 for a change without the permission, because it knows that the version exists. */
const reads = ['application:read', read]
const namesPerPage = 16
const tooLong: Violations = {
  violations: [{ path: '', message: `the schema has more than ${schemaLengthMax} characters` }],
  more: 0,
}

export const createDefaultOperations = (deps: WriteDeps): DefaultOperations => ({
  put: (ctx, request, value, ifMatch) => put(deps, ctx, request, value, ifMatch),
  async get(ctx, { appVersionName, name }) {
    const { tenantId, versionName } = await permittedVersion(deps, ctx, appVersionName, read)
    const found = await store.findDefault(deps.kit.db.sql, { tenantId, versionName, name })
    if (!found) throw NoConfiguration({ name, appVersionName })
    return found
  },
  async delete(ctx, { appVersionName, name }, ifMatch) {
    const scope = 'application:endpoint-config:delete'
    const { tenantId, versionName } = await permittedVersion(deps, ctx, appVersionName, scope, reads)
    const key = { tenantId, versionName, name }
    await deps.kit.db.tx(async (sql) => {
      const [, old] = await Promise.all([store.lockDefault(sql, key), store.findCurrentDefault(sql, key)])
      checkIfMatch(ifMatch, old && etagOfConfig(old.configId))
      if (!old) throw NoConfiguration({ name, appVersionName })
      await store.deleteDefault(sql, key, deps.kit.now())
      await publishUpdated(deps, sql, key)
    })
  },
  async list(ctx, appVersionName) {
    const { tenantId, versionName } = await permittedVersion(deps, ctx, appVersionName, read)
    const { sql } = deps.kit.db
    return allNames((after) => store.findDefaultsAfter(sql, { tenantId, versionName, after, limit: namesPerPage }))
  },
  async schema(ctx, appVersionName) {
    const version = await permittedVersion(deps, ctx, appVersionName, read)
    const text = await deps.schemas.find(version)
    if (text === undefined) throw NoSchema({ appVersionName })
    const problems = await schemaProblems(version.tenantId, text)
    if (problems) throw SchemaUnusable({ appVersionName, problem: violationText(problems) })
    return JSON.parse(text)
  },
  async validateSchema(ctx, appVersionName, schema) {
    const { tenantId } = await permittedVersion(deps, ctx, appVersionName, read)
    const text = JSON.stringify(schema)
    const problems = text.length > schemaLengthMax ? tooLong : await schemaProblems(tenantId, text)
    if (problems) throw SchemaInvalid({ problem: violationText(problems) }, detailsOf(problems))
  },
})

async function put(
  deps: WriteDeps,
  ctx: Ctx,
  { appVersionName, name }: DefaultRequest,
  value: unknown,
  ifMatch: string | undefined,
): Promise<store.ConfigRow> {
  const { kit, schemas, pushes } = deps
  const scope = 'application:endpoint-config:update'
  const version = await permittedVersion(deps, ctx, appVersionName, scope, reads)
  const payload = payloadOf(value)
  await schemas.check(version, payload.config)
  const { tenantId, versionName, applicationName } = version
  const key = { tenantId, versionName, name }
  return await kit.db.tx(async (sql) => {
    const [, old] = await Promise.all([store.lockDefault(sql, key), store.findCurrentDefault(sql, key)])
    checkIfMatch(ifMatch, old && etagOfConfig(old.configId))
    if (old?.digest === payload.digest) return (await store.findDefault(sql, key))!
    const at = kit.now()
    const configId = kit.newId()
    await store.insertContent(sql, tenantId, { configId, ...payload })
    await store.writeDefault(sql, { ...key, applicationName }, { configId, at })
    await publishUpdated(deps, sql, { ...key, configId })
    await pushes.defaultWritten(sql, { tenantId, versionName })
    return { name, configId, config: payload.config, createdDate: old?.createdDate ?? at, updatedDate: at }
  })
}
