/** Schemas of relations, their sessions (the periods in which they existed) and trees. */
import { DateTime, Empty, Name, TextList, Type } from '../../kernel/schema.ts'

const noEntity = 'An entity does not exist, or the caller may not read it. Nothing was changed.'
const entityTypes = Type.Enum(['ASSET', 'ENDPOINT'], { description: 'Kind of the entity.' })
const relationTypes = Type.Enum(['CONTAINS', 'MANAGES'], { description: 'Kind of the relation.' })

const Entity = Type.Object(
  {
    entityType: Name({ maxLength: 16, description: '`ASSET` or `ENDPOINT`, in upper or lower case.' }),
    entityId: Name({ description: 'Id of the asset or endpoint.' }),
  },
  { title: 'EntityReference', description: 'An asset or an endpoint.' },
)
const Relation = Type.Object(
  {
    type: Name({ maxLength: 16, description: '`CONTAINS` or `MANAGES`, in upper or lower case.' }),
    from: Entity,
    to: Entity,
  },
  { title: 'EntityRelationInput', description: 'One entity contains or manages another.' },
)
const body = Type.Union(
  [Relation, Type.Array(Relation, { maxItems: 1000, description: 'Several relations, at most 1000.' })],
  {
    description: 'A relation, or an array of relations.',
    examples: [
      {
        type: 'CONTAINS',
        from: { entityType: 'ASSET', entityId: '5b0a4f6e-7f0e-4c43-9d3f-2f0c7d1e1a01' },
        to: { entityType: 'ENDPOINT', entityId: 'thermo-1' },
      },
    ],
  },
)

export const linkEntities = {
  name: 'assets.relations.link',
  summary: 'Link assets and endpoints',
  description:
    'Creates all relations, or no relation. Existing relations stay. CONTAINS must not form a cycle. CONTAINS between two endpoints is the relation ' +
    '`contains` of the register. The caller needs `asset:update` on each asset and `endpoint:update` on each endpoint.',
  body,
  response: { 204: Empty() },
  fails: { 404: noEntity },
}
export const unlinkEntities = {
  name: 'assets.relations.unlink',
  summary: 'Unlink assets and endpoints',
  description: 'Ends all relations in the body, or no relation. Relations that do not exist are ignored.',
  body,
  response: { 204: Empty() },
  fails: { 404: noEntity },
}

export const listRelations = {
  name: 'assets.relations.list',
  summary: 'List the relations of assets and endpoints',
  description: 'Entities that do not exist, or that the caller may not read, are left out.',
  query: Type.Object({
    entityIds: TextList({ description: 'Ids of assets and endpoints, at most 1000.' }),
    entityType: Type.Optional(Name({ maxLength: 16, description: '`ASSET` or `ENDPOINT`. Default: both.' })),
  }),
  response: {
    200: Type.Array(
      Type.Object(
        {
          ofEntityType: entityTypes,
          ofEntityId: Type.String({ description: 'Entity of the request.' }),
          entityType: entityTypes,
          entityId: Type.String({ description: 'The entity at the other end.' }),
          relationType: Type.Enum(['CONTAINS', 'IS_CONTAINED_BY', 'MANAGES', 'IS_MANAGED_BY'], {
            description: 'Relation of `ofEntityId` to `entityId`.',
          }),
        },
        { title: 'EntityRelation', description: 'A relation as seen from one of its ends.' },
      ),
      { description: 'All relations of these entities.' },
    ),
  },
}

const ShownEntity = Type.Object(
  { entityType: entityTypes, entityId: Type.String({ description: 'Id of the asset or endpoint.' }) },
  { title: 'RelatedEntity', description: 'An asset or an endpoint.' },
)

export const listSessions = {
  name: 'assets.relationSessions.list',
  summary: 'List when relations of an entity existed',
  description:
    'Relations that exist come first, then relations that have ended. A relation that was created again has a session for each time.',
  query: Type.Object({
    entityId: Name({ description: 'Id of the asset or endpoint.' }),
    entityType: Type.Optional(
      Name({
        maxLength: 16,
        description: '`ASSET` or `ENDPOINT`. Default: the asset with this id, else the endpoint.',
      }),
    ),
  }),
  response: {
    200: Type.Array(
      Type.Object(
        {
          type: relationTypes,
          from: ShownEntity,
          to: ShownEntity,
          startedAt: DateTime({ description: 'Time at which the relation was created, in UTC.' }),
          endedAt: Type.Optional(
            DateTime({ description: 'Time at which the relation ended, in UTC. Absent while the relation exists.' }),
          ),
        },
        { title: 'RelationSession', description: 'A period in which a relation existed.' },
      ),
      { description: 'All sessions of the entity.' },
    ),
  },
  fails: { 404: 'The entity does not exist, or the caller may not read it.' },
}

const nodeFields = {
  entityType: entityTypes,
  entityId: Type.String({ description: 'Id of the asset or endpoint.' }),
  name: Type.Optional(
    Type.String({
      description:
        'Field `name` of the definition of an asset, or metadata key `name` of an endpoint, if it is a text.',
    }),
  ),
}

export const getTree = {
  name: 'assets.relationTrees.get',
  summary: 'Get the tree of relations below an entity',
  description:
    'At most 32 levels below the root and 10,000 nodes. Nodes that the caller may not read are left out, with everything below these nodes. If an entity manages an entity above it, the tree shows the upper entity again there, without children.',
  query: Type.Object({
    entityType: Name({ maxLength: 16, description: '`ASSET` or `ENDPOINT`, in upper or lower case.' }),
    entityId: Name({ description: 'Id of the asset or endpoint.' }),
  }),
  response: {
    200: Type.Object(
      {
        ...nodeFields,
        truncated: Type.Optional(
          Type.Boolean({ description: 'True when the tree has more nodes or levels than are shown.' }),
        ),
        children: Type.Array(
          Type.Object(
            {
              relationType: relationTypes,
              ...nodeFields,
              children: Type.Array(
                Type.Object(
                  {},
                  {
                    additionalProperties: true,
                    title: 'RelationTreeDescendant',
                    description: 'A node with the same fields as RelationTreeNode.',
                  },
                ),
                {
                  description: 'Nodes below, of the same form.',
                },
              ),
            },
            { title: 'RelationTreeNode', description: 'An entity with all that it contains and manages.' },
          ),
          { description: 'Entities that the root contains or manages.' },
        ),
      },
      { title: 'RelationTree', description: 'An entity with everything below it.' },
    ),
  },
  fails: { 404: 'The entity does not exist, or the caller may not read it.' },
}
