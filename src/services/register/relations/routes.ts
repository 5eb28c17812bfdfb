import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import type { RegisterService } from '../service.ts'
import * as schemas from './schemas.ts'

const read = { scope: 'endpoint:read' }
/** The body limit fits a thousand pairs of ids. */
const update = { scope: 'endpoint:update', bodyBytesMax: 1024 * 1024 }

export function relationRoutes(http: Http, { relations }: RegisterService) {
  http.put('/relations/link', { schema: schemas.link, config: update }, async ({ ctx, body }, reply) => {
    const outcome = await relations.link(ctx, body)
    // Valid relations are created even if other relations fail. The response then lists both kinds.
    return outcome.failed.length > 0 ? reply.code(400).send(outcome) : reply.code(204).send()
  })

  http.put('/relations/unlink', { schema: schemas.unlink, config: update }, async ({ ctx, body }, reply) => {
    await relations.unlink(ctx, body)
    return reply.code(204).send()
  })

  http.get(
    '/endpoints/:endpointId/relations',
    { schema: schemas.listRelations, config: read },
    async ({ ctx, params, query }, reply) => {
      const { relation, offset, limit } = query
      const selection = { ...params, direction: directionOf(relation), offset, limit }
      return sendText(reply, await relations.list(ctx, selection))
    },
  )
}

/** Parses the direction. Existing clients use many spellings (document 3, 1.12). */
function directionOf(relation: string): 'outbound' | 'inbound' {
  switch (relation.toLowerCase().replace(/[-_ ]/g, '')) {
    case 'contains':
      return 'outbound'
    case 'iscontainedby':
      return 'inbound'
    default:
      throw invalidField('relation', 'expected contains or is_contained_by')
  }
}
