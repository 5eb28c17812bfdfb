import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import { jsonArray } from '../../../kernel/json-text.ts'
import { listOf, type Static } from '../../../kernel/schema.ts'
import type { EntityRelation, RelatedEntity } from '../events.ts'
import * as schemas from '../relation-schemas.ts'
import type { AssetsService } from '../service.ts'

const entityIdsMax = 1000
/** The maximum size of a body fits a thousand relations with the longest ids. */
const update = { scope: 'asset:update', bodyBytesMax: 1024 * 1024 }
const read = { scope: 'asset:read' }

type Body = Static<typeof schemas.linkEntities.body>

/** Returns the constant that equals the text, ignoring case. Throws a 400 if no constant equals the text. */
function constantOf<C extends string>(constants: readonly C[], text: string, field: string): C {
  const found = constants.find((constant) => constant === text.toUpperCase())
  if (found === undefined) throw invalidField(field, `expected ${constants.join(' or ')}`)
  return found
}

const entityTypeOf = (text: string, field: string) => constantOf(['ASSET', 'ENDPOINT'], text, field)
const optionalEntityType = (text: string | undefined) =>
  text === undefined ? undefined : entityTypeOf(text, 'entityType')

/** Returns the relations in a body, and a function that returns the name of a relation's field for an error text. */
function relationsOf(body: Body): { relations: EntityRelation[]; fieldOf(index: number): string } {
  const list = [body].flat()
  const prefix = (index: number) => (Array.isArray(body) ? `${index}.` : '')
  const entity = (
    { entityType, entityId }: { entityType: string; entityId: string },
    field: string,
  ): RelatedEntity => ({
    entityType: entityTypeOf(entityType, `${field}.entityType`),
    entityId,
  })
  return {
    relations: list.map(({ type, from, to }, index) => ({
      type: constantOf(['CONTAINS', 'MANAGES'], type, `${prefix(index)}type`),
      from: entity(from, `${prefix(index)}from`),
      to: entity(to, `${prefix(index)}to`),
    })),
    fieldOf: (index) => `${prefix(index)}to`,
  }
}

async function* texts(items: AsyncIterable<unknown>) {
  for await (const item of items) yield JSON.stringify(item)
}

export function relationRoutes(http: Http, relations: AssetsService['relations']) {
  http.post(
    '/api/v1/relations/link',
    { schema: schemas.linkEntities, config: update },
    async ({ ctx, body }, reply) => {
      const requestedRelations = relationsOf(body)
      await relations.link(ctx, requestedRelations.relations, requestedRelations.fieldOf)
      return reply.code(204).send()
    },
  )

  http.post(
    '/api/v1/relations/unlink',
    { schema: schemas.unlinkEntities, config: update },
    async ({ ctx, body }, reply) => {
      await relations.unlink(ctx, relationsOf(body).relations)
      return reply.code(204).send()
    },
  )

  http.get('/api/v2/relations', { schema: schemas.listRelations, config: read }, async ({ ctx, query }, reply) => {
    const entityIds = listOf(query.entityIds) ?? []
    if (entityIds.length === 0 || entityIds.length > entityIdsMax)
      throw invalidField('entityIds', `expected 1 to ${entityIdsMax} ids`)
    const found = await relations.list(ctx, entityIds, optionalEntityType(query.entityType))
    return sendText(reply, jsonArray(texts(found)))
  })

  http.get(
    '/api/v1/relation-sessions',
    { schema: schemas.listSessions, config: read },
    async ({ ctx, query }, reply) => {
      const found = await relations.sessions(ctx, query.entityId, optionalEntityType(query.entityType))
      return sendText(reply, jsonArray(texts(found)))
    },
  )

  http.get('/api/v1/relation-trees', { schema: schemas.getTree, config: read }, async ({ ctx, query }, reply) => {
    const entityType = entityTypeOf(query.entityType, 'entityType')
    return sendText(reply, JSON.stringify(await relations.tree(ctx, { entityType, entityId: query.entityId })))
  })
}
