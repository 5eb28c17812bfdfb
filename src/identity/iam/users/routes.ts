import { etagOf, notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendList } from '../../../kernel/http/send.ts'
import * as schemas from './schemas.ts'
import type { Users } from './service.ts'

export function userRoutes(http: Http, users: Users) {
  const read = { scope: 'identity:user:read', on: 'resource' } as const
  const update = { scope: 'identity:user:update', on: 'resource' } as const

  http.get(
    '/users',
    { schema: schemas.listUsers, config: { scope: 'identity:user:read', on: 'tenant' } },
    async ({ ctx, query }, reply) => sendList(reply, await users.list(ctx, query)),
  )
  http.post(
    '/users',
    { schema: schemas.createUser, config: { scope: 'identity:user:create', on: 'tenant' } },
    async (request, reply) => {
      const user = await users.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/users/${user.id}`))
        .send(user)
    },
  )
  http.get('/users/:id', { schema: schemas.readUser, config: read }, async ({ ctx, params, headers }, reply) => {
    const user = await users.read(ctx, params.id)
    const etag = etagOf(user)
    reply.header('etag', etag)
    return notModified(headers, etag) ? reply.code(304).send() : reply.send(user)
  })
  http.put(
    '/users/:id',
    { schema: schemas.updateUser, config: update },
    async ({ ctx, params, body, headers }, reply) => {
      await users.update(ctx, params.id, body, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.delete(
    '/users/:id',
    { schema: schemas.deleteUser, config: { scope: 'identity:user:delete', on: 'resource' } },
    async ({ ctx, params, headers }, reply) => {
      await users.delete(ctx, params.id, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    '/users/:id/password',
    { schema: schemas.setPassword, config: update },
    async ({ ctx, params, body }, reply) => {
      await users.setPassword(ctx, params.id, body.password)
      return reply.code(204).send()
    },
  )
  http.put(
    '/users/:id/roles',
    { schema: schemas.setRoles, config: update },
    async ({ ctx, params, body, headers }, reply) => {
      await users.setRoles(ctx, params.id, body, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.get('/users/:id/second-factors', { schema: schemas.listSecondFactors, config: read }, ({ ctx, params }) =>
    users.secondFactors(ctx, params.id),
  )
  http.delete(
    '/users/:id/second-factors',
    { schema: schemas.deleteSecondFactors, config: update },
    async ({ ctx, params }, reply) => {
      await users.removeSecondFactors(ctx, params.id)
      return reply.code(204).send()
    },
  )
}
