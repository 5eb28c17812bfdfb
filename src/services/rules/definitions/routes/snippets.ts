import { bodyLimitBytes as bodyBytesMax } from '../../../../kernel/http/body.ts'
import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import * as schemas from '../schemas/snippets.ts'
import type { SnippetOperations } from '../service/snippets.ts'
import { sendWithEtag } from './answers.ts'

const path = '/snippets/:snippetId'

export function snippetRoutes(http: Http, snippets: SnippetOperations) {
  http.post(
    '/snippets',
    { schema: schemas.createSnippet, config: { scope: 'tenant:snippet:create', on: 'tenant', bodyBytesMax } },
    async (request, reply) => {
      const id = await snippets.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/snippets/${id}`))
        .send()
    },
  )
  http.get(
    '/snippets',
    { schema: schemas.listSnippets, config: { scope: 'snippet:read' } },
    async ({ ctx, query }, reply) => sendList(reply, await snippets.list(ctx, query)),
  )
  http.get(path, { schema: schemas.getSnippet, config: { scope: 'snippet:read' } }, async (request, reply) =>
    sendWithEtag(request, reply, await snippets.read(request.ctx, request.params.snippetId)),
  )
  http.put(
    path,
    { schema: schemas.updateSnippet, config: { scope: 'snippet:update', bodyBytesMax } },
    async (request, reply) => {
      const { ctx, params, body, headers } = request
      await snippets.update(ctx, params.snippetId, body, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.delete(path, { schema: schemas.deleteSnippet, config: { scope: 'snippet:delete' } }, async (request, reply) => {
    await snippets.delete(request.ctx, request.params.snippetId, request.headers['if-match'])
    return reply.code(204).send()
  })
}
