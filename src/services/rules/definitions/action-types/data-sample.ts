import { type ActionTypeDefinition, endpointIdsExpression } from './action-type.ts'

export const dataSample: ActionTypeDefinition = {
  type: 'data-sample',
  title: 'DataSampleAction',
  description: 'Adds data samples to endpoints, as if their devices had sent them.',
  attributes: {
    dataSampleExpression: {
      description: 'A data sample, or an array of data samples.',
      literal: 'object or array',
      required: true,
    },
    endpointIdsExpression,
  },
  fields: {},
  needs: ['endpoint:update'],
  example: {
    name: 'to Fahrenheit',
    dataSampleExpression:
      'const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples; return { tempF: sample.tempC * 1.8 + 32 }',
  },
}
