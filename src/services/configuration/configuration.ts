import { defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { defaulted, Type } from '../../kernel/schema.ts'
import { checkSchemaText } from './schema-text.ts'

const schemaLengthMax = 64 * 1024

/** The schema that configurations of endpoints must follow (document 3, "Settled on a second reading"). */
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
        Type.Boolean({ description: 'A missing schema is a 404', default: false }),
      ),
    }),
  ),
  check: checkSchemaText,
})

export const configurationInstances = [
  endpointConfigurationsInstance,
  defineInstance({ name: 'cmx', group: 'Configuration management', description: 'Configuration extension' }),
]
