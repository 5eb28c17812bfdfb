import { defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { schemaLengthMax, schemaProblems, violationText } from '../../kernel/json-schema.ts'
import { defaulted, Type } from '../../kernel/schema.ts'

/** The JSON schema for the configurations of endpoints (document 3, "Settled on a second reading"). */
export const endpointConfigurationsInstance = defineInstance({
  name: 'ecr',
  group: 'Configuration management',
  description: 'Endpoint configurations',
  urlPrefix: '/ecr',
  schemas: forApplicationAndVersion(
    Type.Object({
      endpointConfigurationSchema: Type.Optional(
        Type.String({ maxLength: schemaLengthMax, description: 'A JSON schema as text' }),
      ),
      endpointConfigurationSchemaRequired: defaulted(
        Type.Boolean({
          description: 'True when configurations are rejected with 404 for versions without a schema',
          default: false,
        }),
      ),
    }),
  ),
  async checkNew({ endpointConfigurationSchema: schema }, tenantId) {
    // A patch may contain a value of any type here. The type is checked when the patched configuration is stored.
    if (typeof schema !== 'string' || schema.length > schemaLengthMax) return undefined
    const problems = await schemaProblems(tenantId, schema)
    if (!problems) return undefined
    return {
      path: ['endpointConfigurationSchema'],
      problem: `expected a JSON schema as text: ${violationText(problems)}`,
    }
  },
})

export const configurationInstances = [
  endpointConfigurationsInstance,
  defineInstance({ name: 'cmx', group: 'Configuration management', description: 'Configuration extension' }),
]
