import { etagOf, notModified } from '../../kernel/etag.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { jsonArray } from '../../kernel/json-text.ts'
import * as schemas from './schemas.ts'
import type { RevocationList } from './service/authorities.ts'
import type { CredentialsService } from './service.ts'

const on = 'tenant'
const readBasic = { scope: 'tenant:basic-credentials:read', on } as const
const createBasic = { scope: 'tenant:basic-credentials:create', on } as const
const updateBasic = { scope: 'tenant:basic-credentials:update', on } as const
const readX509 = { scope: 'tenant:x509-credentials:read', on } as const
const createX509 = { scope: 'tenant:x509-credentials:create', on } as const
const updateX509 = { scope: 'tenant:x509-credentials:update', on } as const
/** These operations are public, because devices and servers that verify certificates have no account. */
const anonymous = { scope: 'none' }

/** Serializes page by page. If reading the first page fails, the response can still be an error. */
async function* jsonPages(pages: AsyncIterable<object[]>) {
  for await (const page of pages) if (page.length > 0) yield JSON.stringify(page).slice(1, -1)
}

export function routes(http: Http, { basic, certificates }: CredentialsService) {
  http.get('/basic-credentials', { schema: schemas.listBasic, config: readBasic }, ({ ctx }, reply) =>
    sendText(reply, jsonArray(jsonPages(basic.list(ctx)))),
  )

  http.post(
    '/basic-credentials',
    { schema: schemas.createBasic, config: { ...createBasic, bodyOptional: true } },
    async (request, reply) => {
      const { username, password } = request.body
      const created = await basic.create(request.ctx, {
        ...(username !== undefined && { username }),
        ...(password !== undefined && { password }),
      })
      return reply
        .code(201)
        .header('location', http.link(request, `/basic-credentials/${created.id}`))
        .send(created)
    },
  )

  http.get('/basic-credentials/:id', { schema: schemas.readBasic, config: readBasic }, async ({ ctx, params }, reply) =>
    reply.send(await basic.read(ctx, params.id)),
  )

  http.patch(
    '/basic-credentials/:id/state',
    { schema: schemas.moveBasic, config: updateBasic },
    async ({ ctx, params, body }, reply) => {
      await basic.changeState(ctx, params.id, body.state)
      return reply.code(204).send()
    },
  )

  http.patch(
    '/basic-credentials/:id/password',
    { schema: schemas.changePassword, config: { ...updateBasic, bodyOptional: true } },
    async ({ ctx, params, body }, reply) =>
      reply.send({ password: await basic.changePassword(ctx, params.id, body.password) }),
  )

  http.delete(
    '/basic-credentials/:id',
    { schema: schemas.deleteBasic, config: updateBasic },
    async ({ ctx, params }, reply) => {
      await basic.delete(ctx, params.id)
      return reply.code(204).send()
    },
  )

  http.get('/x509-credentials', { schema: schemas.listCertificates, config: readX509 }, ({ ctx }, reply) =>
    sendText(reply, jsonArray(jsonPages(certificates.list(ctx)))),
  )

  http.post(
    '/x509-credentials',
    { schema: schemas.issueCertificate, config: { ...createX509, bodyOptional: true } },
    async (request, reply) => {
      const { commonName, ttl } = request.body
      const issued = await certificates.issue(request.ctx, {
        ...(commonName !== undefined && { commonName }),
        ...(ttl !== undefined && { ttl }),
      })
      return reply
        .code(201)
        .header('location', http.link(request, `/x509-credentials/${issued.id}`))
        .send(issued)
    },
  )

  http.get(
    '/x509-credentials/:id',
    { schema: schemas.readCertificate, config: readX509 },
    async ({ ctx, params }, reply) => reply.send(await certificates.read(ctx, params.id)),
  )

  http.patch(
    '/x509-credentials/:id/state',
    { schema: schemas.moveCertificate, config: updateX509 },
    async ({ ctx, params, body }, reply) => {
      await certificates.changeState(ctx, params.id, body.state)
      return reply.code(204).send()
    },
  )
}

/** Routes for the root certificate and the revocation lists, below the root path that existing clients use. */
export function certificateRoutes(http: Http, { authorities }: CredentialsService) {
  http.get('/certificates/root', { schema: schemas.readRoot, config: anonymous }, async (_, reply) =>
    reply.type('application/x-pem-file').send(Buffer.from(await authorities.root())),
  )

  type Request = { headers: { 'if-none-match'?: string | undefined } }
  type Reply = Parameters<Parameters<Http['get']>[2]>[1]
  const send = ({ headers }: Request, reply: Reply, { bytes, number }: RevocationList, authority: string) => {
    const etag = etagOf(authority, number)
    reply.header('etag', etag).header('cache-control', 'public, max-age=60')
    if (notModified(headers, etag)) return reply.code(304).send()
    return reply.type('application/pkix-crl').send(bytes)
  }

  http.get('/certificates/crl', { schema: schemas.readRootList, config: anonymous }, async (request, reply) =>
    send(request, reply, await authorities.rootRevocationList(), 'platform'),
  )

  http.get(
    '/certificates/authorities/:authorityId/crl',
    { schema: schemas.readTenantList, config: anonymous },
    async (request, reply) => {
      const { authorityId } = request.params
      return send(request, reply, await authorities.revocationListOf(authorityId), authorityId)
    },
  )
}
