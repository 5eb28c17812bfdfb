import { etagOf, notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { Roles } from './service.ts'

export function roleRoutes(http: Http, roles: Roles) {
  const on = (verb: string) => ({ scope: `identity:role:${verb}`, on: 'resource' }) as const

  http.get(
    '/roles',
    { schema: schemas.listRoles, config: { scope: 'identity:role:read', on: 'tenant' } },
    ({ ctx, query }) => roles.list(ctx, query),
  )
  http.post(
    '/roles',
    { schema: schemas.createRole, config: { scope: 'identity:role:create', on: 'tenant' } },
    async (request, reply) => {
      const role = await roles.create(request.ctx, request.body)
      const link = http.link(request, `/roles/${encodeURIComponent(role.name)}`)
      return reply.code(201).header('location', link).send(role)
    },
  )
  http.get(
    '/roles/:name',
    { schema: schemas.readRole, config: on('read') },
    async ({ ctx, params, headers }, reply) => {
      const role = await roles.read(ctx, params.name)
      const etag = etagOf(role)
      reply.header('etag', etag)
      return notModified(headers, etag) ? reply.code(304).send() : reply.send(role)
    },
  )
  http.put(
    '/roles/:name',
    { schema: schemas.updateRole, config: on('update') },
    async ({ ctx, params, body, headers }, reply) => {
      await roles.update(ctx, params.name, body, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.delete(
    '/roles/:name',
    { schema: schemas.deleteRole, config: on('delete') },
    async ({ ctx, params, headers }, reply) => {
      await roles.delete(ctx, params.name, headers['if-match'])
      return reply.code(204).send()
    },
  )
}
