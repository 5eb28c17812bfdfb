import { example, type TriggerTypeDefinition } from './trigger-type.ts'

export const endpointDataSamplesReceived: TriggerTypeDefinition = {
  type: 'endpoint-data-samples-received',
  alias: 'endpoint-data-sample-updated',
  title: 'EndpointDataSamplesReceivedTrigger',
  description: 'Fires when data samples of an endpoint arrive, once for each message.',
  fields: {},
  example,
}
