/** Checks the JSON of a configuration: its size, and whether it conforms to the schema of the version. */
import { type Verdict, type Violations, validateJson, violationText } from '../../../kernel/json-schema.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { digestOf } from '../canonical-json.ts'
import { endpointConfigurationsInstance } from '../configuration.ts'
import { ConfigurationTooLarge, SchemaMissing, SchemaUnusable, SchemaViolated } from '../errors.ts'

export interface Payload {
  /** JSON text. */
  config: string
  digest: string
}

/** Maximum size of a configuration, so that it fits into one packet to a device (document 5, 1.7). */
export const payloadBytesMax = 1_000_000

export function payloadOf(value: unknown): Payload {
  const config = JSON.stringify(value)
  if (Buffer.byteLength(config) > payloadBytesMax) throw ConfigurationTooLarge({ limit: payloadBytesMax })
  return { config, digest: digestOf(value) }
}

export interface SchemaOperations {
  /** Returns the schema text of the version. If the version has no schema, returns the schema text of its application. */
  find(version: ApplicationVersionRef): Promise<string | undefined>
  /**
   * Checks a configuration. Throws 404 if a schema is required and missing, 422 if the schema rejects the configuration, and 503 if the
   * schema cannot be used.
   */
  check(version: ApplicationVersionRef, config: string): Promise<void>
}

/** Returns the violations for a response. `errors` lists the first violations, `moreErrors` is the number of further violations. */
export const detailsOf = ({ violations, more }: Violations) => ({
  details: { errors: violations, ...(more > 0 && { moreErrors: more }) },
})

export function createSchemaOperations(applications: Pick<Applications, 'derivedConfiguration'>): SchemaOperations {
  const settingsOf = applications.derivedConfiguration(endpointConfigurationsInstance, (config) => ({
    schema: config.endpointConfigurationSchema,
    isRequired: config.endpointConfigurationSchemaRequired,
  }))
  return {
    find: async (version) => (await settingsOf(version)).schema,
    async check(version, config) {
      const { schema, isRequired } = await settingsOf(version)
      const { versionName: appVersionName } = version
      if (schema === undefined && isRequired) throw SchemaMissing({ appVersionName })
      if (schema !== undefined) refuse(appVersionName, await validateJson(version.tenantId, schema, config))
    },
  }
}

function refuse(appVersionName: string, verdict: Verdict) {
  if (verdict === 'valid') return
  if ('unusable' in verdict) throw SchemaUnusable({ appVersionName, problem: violationText(verdict.unusable) })
  const { violations } = verdict
  throw SchemaViolated({ appVersionName, problem: violationText(violations) }, detailsOf(violations))
}
