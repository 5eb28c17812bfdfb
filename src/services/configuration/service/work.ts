/** Writes a configuration for the endpoints of a bulk job, for each endpoint in its current version. */
import { type BulkType, defineBulk, type Outcome } from '../../../kernel/bulk/types.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { EndpointRef, EndpointWork, Register, TaskEndpoint, TaskEndpointResult } from '../../register/contract.ts'
import type { ConfigurationForMany } from '../contract.ts'
import * as store from '../store/configs.ts'
import { publishUpdated, type WriteDeps, writeOwn } from './endpoints.ts'
import { type Payload, payloadOf, type SchemaOperations } from './payload.ts'

interface ConfigurationData extends Payload {
  name: string
  configId: string
}

export const WriteConfigurations: BulkType<ConfigurationData, TaskEndpoint, TaskEndpointResult> = defineBulk(
  'configuration.write',
  { title: 'Set a configuration', pageSize: 200, keepDays: 30 },
)

interface Deps extends Omit<WriteDeps, 'register' | 'kit'> {
  kit: WriteDeps['kit'] & Pick<Kit, 'bulk'>
  register: Pick<Register, 'taskEndpoints' | 'find'>
}

export function createConfigurationWork(deps: Deps): EndpointWork<ConfigurationForMany> {
  const { kit, register } = deps
  const verdictOf = createVerdicts(deps.schemas)
  kit.bulk.handle(WriteConfigurations, {
    async page(sql, { tenantId, data }, items) {
      const endpoints = await register.taskEndpoints(sql, tenantId, items)
      const found = endpoints.filter((endpoint) => !('failed' in endpoint)) as EndpointRef[]
      const targets = targetsOf(found)
      const problems = new Map<string, string>()
      for (const target of targets) {
        const problem = await verdictOf(target, data)
        if (problem !== undefined) problems.set(target.versionName, problem)
      }
      const accepted = targets.filter(({ versionName }) => !problems.has(versionName))
      if (accepted.length > 0) await writeAll(deps, sql, tenantId, accepted, data)
      return endpoints.map((endpoint): Outcome<TaskEndpointResult> => {
        const failed = 'failed' in endpoint ? endpoint.failed : problems.get(endpoint.versionName)
        return failed === undefined ? {} : { failed }
      })
    },
  })
  return {
    type: WriteConfigurations,
    scope: 'endpoint:update',
    dataOf: (_ctx, { name, config }) => ({ name, configId: kit.newId(), ...payloadOf(config) }),
    describe: ({ name, configId }: ConfigurationData) => ({ name, configId }),
  }
}

const targetsOf = (endpoints: EndpointRef[]): store.Target[] =>
  [...Map.groupBy(endpoints, ({ versionName }) => versionName).values()].map((rows) => {
    const { tenantId, applicationName, versionName } = rows[0]!
    return { tenantId, applicationName, versionName, endpointIds: rows.map(({ endpointId }) => endpointId) }
  })

/** Writes the configuration of the endpoints that do not already have an equal configuration. */
async function writeAll(
  deps: Deps,
  sql: Sql,
  tenantId: string,
  targets: store.Target[],
  { name, configId, config, digest }: ConfigurationData,
) {
  await store.lockTenant(sql, tenantId)
  await store.insertContentOnce(sql, tenantId, { configId, config, digest })
  const at = deps.kit.now()
  for (const target of targets) {
    const { versionName } = target
    const unchanged = await store.findUnchanged(sql, target, name, digest)
    const endpointIds = target.endpointIds.filter((endpointId) => !unchanged.has(endpointId))
    if (endpointIds.length === 0) continue
    await writeOwn(sql, { ...target, endpointIds }, { name, configId, at })
    for (const part of splitForEvents(endpointIds))
      await publishUpdated(deps, sql, { tenantId, versionName, name, configId, endpointIds: part })
    await deps.pushes.pageWritten(sql, { tenantId, versionName, name, endpointIds })
  }
}

const verdictsMax = 1000

/**
 * Returns a function that checks a configuration with the schema of a version. The function returns the problem, or undefined. It keeps
 * its results for the next pages of the task.
 */
function createVerdicts(schemas: SchemaOperations) {
  const verdicts = new Map<string, string | undefined>()
  return async (version: store.Target, { configId, config }: ConfigurationData): Promise<string | undefined> => {
    const key = `${configId} ${version.versionName}`
    if (verdicts.has(key)) return verdicts.get(key)
    const problem = await schemas.check(version, config).then(
      () => undefined,
      (error) => {
        if (error instanceof PlatformError && error.status < 500) return error.message
        throw error
      },
    )
    if (verdicts.size >= verdictsMax) verdicts.clear()
    verdicts.set(key, problem)
    return problem
  }
}
