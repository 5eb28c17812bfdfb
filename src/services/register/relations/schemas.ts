import { failure } from '../../../kernel/error-formats.ts'
import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Name, Type } from '../../../kernel/schema.ts'
import { FailedRelation, noEndpoint, none, ofEndpoint, Relation } from '../schemas.ts'

const body = Type.Array(Relation, {
  maxItems: 1000,
  description: 'The relations, at most 1000.',
  examples: [[{ type: 'contains', from: 'gateway-1', to: 'thermo-1' }]],
})
const missing = failure('An endpoint does not exist, or the caller may not read it. Nothing was changed.')

export const link = {
  name: 'endpoints.relations.link',
  summary: 'Link endpoints',
  description:
    'Each relation says that an endpoint contains another endpoint, for example a gateway contains a sensor. Cycles are not allowed.',
  body,
  response: {
    ...none,
    400: Type.Object(
      {
        message: Type.Optional(
          Type.String({ description: 'Description of a problem that concerns the whole request.' }),
        ),
        successful: Type.Optional(Type.Array(Relation, { description: 'Relations that were made.' })),
        failed: Type.Optional(
          Type.Array(FailedRelation, { description: 'Relations that were not made, each with its reason.' }),
        ),
      },
      {
        title: 'LinkFailure',
        description:
          'The body is malformed (`message`), or some relations could not be created (`failed`). `successful` lists the relations that were created.',
      },
    ),
    404: missing,
  },
}
export const unlink = {
  name: 'endpoints.relations.unlink',
  summary: 'Unlink endpoints',
  description: 'Deletes the relations in the body.',
  body,
  response: { ...none, 404: missing },
}
export const listRelations = {
  name: 'endpoints.relations.list',
  summary: 'List the relations of an endpoint',
  params: ofEndpoint,
  query: Type.Object({
    relation: Name({
      maxLength: 32,
      description:
        '`contains`: endpoints that this endpoint contains. `is_contained_by`: endpoints that contain this endpoint.',
    }),
    ...offsetQuery(0),
  }),
  response: { 200: contentPage(Relation) },
  fails: { 404: noEndpoint },
}
