import { contentDisposition } from '../../kernel/http/content-headers.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { listOf } from '../../kernel/schema.ts'
import * as schemas from './schemas.ts'
import { type ClientOperations, createScope, deleteScope, readScope, updateScope } from './service/clients.ts'

const clientPath = '/vpnclient/:vpnclientID'

export function routes(http: Http, clients: ClientOperations) {
  http.post(
    '/vpnclient',
    { schema: schemas.createClient, config: { scope: createScope, on: 'tenant' } },
    async (request, reply) => {
      const data = await clients.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/vpnclient/${data.id}`))
        .send({ data })
    },
  )

  http.get('/vpnclient', { schema: schemas.listClients, config: { scope: readScope } }, async ({ ctx, query }) => {
    const { ids, name, endpointId, state, ipAddress, page, pageSize } = query
    const requestedIds = listOf(ids)
    const filter = {
      ids: requestedIds?.length ? requestedIds : undefined,
      name,
      endpointId,
      state,
      ipAddress,
      page,
      pageSize,
    }
    const { count, data, server } = await clients.list(ctx, filter)
    return { data, count, page, pageSize, server }
  })

  http.get(clientPath, { schema: schemas.getClient, config: { scope: readScope } }, async ({ ctx, params }) => ({
    data: await clients.get(ctx, params.vpnclientID),
  }))

  http.delete(
    clientPath,
    { schema: schemas.deleteClient, config: { scope: deleteScope } },
    async ({ ctx, params }, reply) => {
      await clients.delete(ctx, params.vpnclientID)
      return reply.code(204).send()
    },
  )

  http.get(
    `${clientPath}/config`,
    { schema: schemas.getProfile, config: { scope: readScope } },
    async ({ ctx, params }, reply) => {
      const { filename, text } = await clients.profile(ctx, params.vpnclientID)
      return reply
        .headers({
          'content-type': 'application/octet-stream',
          'content-disposition': contentDisposition(filename),
          'x-content-type-options': 'nosniff',
          // The configuration contains a private key.
          'cache-control': 'no-store',
        })
        .send(Buffer.from(text))
    },
  )

  http.put(
    `${clientPath}/ssh-key`,
    { schema: schemas.setSshKey, config: { scope: updateScope } },
    async ({ ctx, params, body }, reply) => {
      await clients.setSshKey(ctx, params.vpnclientID, body.sshKey)
      return reply.code(204).send()
    },
  )

  http.put(
    `${clientPath}/username`,
    { schema: schemas.setUsername, config: { scope: updateScope } },
    async ({ ctx, params, body }, reply) => {
      await clients.setUsername(ctx, params.vpnclientID, body.username)
      return reply.code(204).send()
    },
  )

  http.put(
    `${clientPath}/description`,
    { schema: schemas.setDescription, config: { scope: updateScope } },
    async ({ ctx, params, body }, reply) => {
      await clients.setDescription(ctx, params.vpnclientID, body.description)
      return reply.code(204).send()
    },
  )
}
