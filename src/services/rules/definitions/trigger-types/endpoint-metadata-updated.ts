import { metadataKey } from '../names.ts'
import { example, listOfNames, type TriggerTypeDefinition } from './trigger-type.ts'

export const endpointMetadataUpdated: TriggerTypeDefinition = {
  type: 'endpoint-metadata-updated',
  title: 'EndpointMetadataUpdatedTrigger',
  description: 'Fires when metadata of an endpoint changes.',
  fields: {
    metadataKeys: listOfNames(
      metadataKey('A metadata key: up to 128 letters, digits and `_`.'),
      'Fires only if one of these keys changes. The script sees the whole change. If absent: any key.',
    ),
  },
  example: { ...example, metadataKeys: ['battery'] },
}
