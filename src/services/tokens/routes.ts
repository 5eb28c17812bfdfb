import { invalidField } from '../../kernel/errors.ts'
import { etagOf, notModified } from '../../kernel/etag.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import { windowOf } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import * as schemas from './schemas.ts'
import type { TokensService } from './service.ts'
import { type TokenStatus, tokenStatuses } from './states.ts'

const read = { scope: 'endpoint:read' }
const update = { scope: 'endpoint:update' }

function send(
  request: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  body: Record<string, unknown>,
) {
  const etag = etagOf(body)
  reply.header('etag', etag)
  return notModified(request.headers, etag) ? reply.code(304).send() : reply.send(body)
}

const isStatus = (text: string): text is TokenStatus => (tokenStatuses as readonly string[]).includes(text)

/** Parses the status filter; undefined means all statuses. */
function statusesOf(parameter: string | string[] | undefined): TokenStatus[] | undefined {
  const statuses = listOf(parameter)
  if (statuses === undefined || statuses.length === 0) return undefined
  if (!statuses.every(isStatus)) throw invalidField('status', `expected one or several of ${tokenStatuses.join(', ')}`)
  return statuses
}

export function routes(http: Http, tokens: TokensService) {
  http.get('/endpoints/:endpointId/tokens', { schema: schemas.listTokens, config: read }, async (request, reply) => {
    const { status, order, ...window } = request.query
    const page = await tokens.list(request.ctx, {
      ...request.params,
      ...windowOf(window),
      statuses: statusesOf(status),
      order,
    })
    return send(request, reply, page)
  })

  http.post(
    '/endpoints/:endpointId/tokens',
    { schema: schemas.provisionToken, config: update },
    async (request, reply) => {
      const { applicationName, token } = request.body
      const created = await tokens.provision(request.ctx, {
        ...request.params,
        applicationName,
        ...(token !== undefined && { token }),
      })
      // The link contains the id of the token, never its secret text.
      const path = `/endpoints/${encodeURIComponent(request.params.endpointId)}/tokens/${created.endpointTokenId}`
      return reply.code(201).header('location', http.link(request, path)).send(created)
    },
  )

  const tokenPath = '/endpoints/:endpointId/tokens/:endpointTokenId'

  http.get(tokenPath, { schema: schemas.readToken, config: read }, async (request, reply) => {
    const { endpointTokenId: _, ...described } = await tokens.read(request.ctx, request.params)
    return send(request, reply, described)
  })

  http.delete(tokenPath, { schema: schemas.deleteToken, config: update }, async ({ ctx, params }, reply) => {
    await tokens.delete(ctx, params)
    return reply.code(204).send()
  })

  http.get(`${tokenPath}/status`, { schema: schemas.readStatus, config: read }, async (request, reply) => {
    const { status } = await tokens.read(request.ctx, request.params)
    return send(request, reply, { status })
  })

  http.put(
    `${tokenPath}/status`,
    { schema: schemas.setStatus, config: update },
    async ({ ctx, params, body }, reply) => {
      const { status } = body
      await tokens.setStatus(ctx, params, status)
      return reply.code(204).header('etag', etagOf({ status })).send()
    },
  )
}
