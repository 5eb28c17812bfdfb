import type { Http } from '../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { LinkOperations } from './service.ts'

/** Any authenticated caller may create links. The service calls the download on behalf of the caller, and that call checks the scope. */
const create = { scope: 'authenticated' }
const defaultSeconds = 300

const forwardedHeaders = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const
const returned = [
  'content-type',
  'content-length',
  'content-range',
  'content-disposition',
  'content-security-policy',
  'x-content-type-options',
  'accept-ranges',
  'etag',
  'last-modified',
  'repr-digest',
]

export function routes(http: Http, links: LinkOperations) {
  http.post('/links', { schema: schemas.createLink, config: create }, async (request, reply) => {
    const { path, validSeconds = defaultSeconds } = request.body
    const { token, expiresDate } = await links.create(request.ctx, { path, validSeconds })
    const url = http.link(request, `/links/content?token=${encodeURIComponent(token)}`)
    return reply.code(201).header('cache-control', 'no-store').send({ url, expiresDate })
  })

  // The token is in the query, which log messages do not contain.
  http.get('/links/content', { schema: schemas.downloadLink, config: { scope: 'none' } }, async (request, reply) => {
    const { headers, raw, query } = request
    const passed = forwardedHeaders.flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
    )
    const {
      status,
      headers: given,
      body,
    } = await links.open(query.token, {
      headers: Object.fromEntries(passed),
      address: raw.address,
      correlationId: raw.id,
    })
    reply.code(status).headers({ 'cache-control': 'private, no-store', 'referrer-policy': 'no-referrer' })
    for (const name of returned) if (given[name] !== undefined) reply.header(name, given[name])
    return reply.send(body)
  })
}
