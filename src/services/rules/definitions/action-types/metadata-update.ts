import { type ActionTypeDefinition, endpointIdsExpression } from './action-type.ts'

export const metadataUpdate: ActionTypeDefinition = {
  type: 'metadata-update',
  title: 'MetadataUpdateAction',
  description: 'Changes the metadata of endpoints.',
  attributes: {
    metadataExpression: {
      description: 'An object that is merged into the metadata. A value of null deletes its key.',
      literal: 'object',
      required: true,
    },
    endpointIdsExpression,
  },
  fields: {},
  needs: ['endpoint:update'],
  example: { name: 'mark as hot', metadataExpression: '{"hot": true}' },
}
