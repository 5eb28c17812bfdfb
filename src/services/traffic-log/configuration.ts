import { defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { defaulted, Type } from '../../kernel/schema.ts'

/** Request status (document 3, 2.C). */
export const requestStatusInstance = defineInstance({
  name: 'rsx',
  group: 'Communication',
  description: 'Request status extension',
  schemas: forApplicationAndVersion(
    Type.Object({
      outcomes: defaulted(
        Type.Integer({
          minimum: 1,
          maximum: 10_000,
          default: 1000,
          description: 'How many of the last requests of an endpoint to an extension are remembered',
        }),
      ),
    }),
  ),
})

export const trafficLogInstances = [
  requestStatusInstance,
  defineInstance({ name: 'al', group: 'Communication', description: 'Traffic log', urlPrefix: '/al' }),
]
