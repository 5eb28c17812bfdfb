import { failure } from '../../../kernel/faces.ts'
import { contentPage } from '../../../kernel/paging.ts'
import { Name, Type } from '../../../kernel/schema.ts'
import { FailedRelation, none, ofEndpoint, Relation } from '../schemas.ts'

const body = Type.Array(Relation, {
  maxItems: 1000,
  examples: [[{ type: 'contains', from: 'gateway-1', to: 'thermo-1' }]],
})
const missing = failure('An endpoint was not found')

export const link = {
  name: 'endpoints.relations.link',
  summary: 'Link endpoints: one contains another',
  body,
  response: {
    ...none,
    400: Type.Object(
      {
        message: Type.Optional(Type.String()),
        successful: Type.Optional(Type.Array(Relation)),
        failed: Type.Optional(Type.Array(FailedRelation)),
      },
      { title: 'LinkFailure', description: 'Some relations could not be made; those in successful were' },
    ),
    404: missing,
  },
}
export const unlink = {
  name: 'endpoints.relations.unlink',
  summary: 'Unlink endpoints',
  body,
  response: { ...none, 404: missing },
}
export const listRelations = {
  name: 'endpoints.relations.list',
  summary: 'List the endpoints that an endpoint contains, or that contain it',
  params: ofEndpoint,
  query: Type.Object({
    relation: Name({ maxLength: 32, description: 'contains (children) or is_contained_by (parents)' }),
    offset: Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0, description: 'How many to pass over' }),
    limit: Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      default: 0,
      description: 'How many to answer with; 0: all',
    }),
  }),
  response: { 200: contentPage(Relation) },
}
