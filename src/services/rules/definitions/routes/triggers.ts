import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import { type TriggerType, triggerTypes } from '../../model.ts'
import { triggerSchemas } from '../schemas/triggers.ts'
import type { TriggerBody, TriggerOperations } from '../service/triggers.ts'
import { triggerTypeDefinitions } from '../trigger-types.ts'
import { sendWithEtag } from './answers.ts'

export function triggerRoutes(http: Http, triggers: TriggerOperations) {
  for (const type of triggerTypes) {
    const { alias } = triggerTypeDefinitions[type]
    routesOf(http, triggers, type, type)
    if (alias !== undefined) routesOf(http, triggers, type, alias)
  }
}

/** Options of routes whose body is a trigger: the metadata in a trigger can be any JSON. */
const freeForm = { anyJson: 'inside', bodyBytesMax: 256 * 1024 } as const

function routesOf(http: Http, triggers: TriggerOperations, type: TriggerType, segment: string) {
  const schemas = triggerSchemas(triggerTypeDefinitions[type], segment)
  const path = `/trigger-types/${segment}/triggers`
  const scope = (verb: string) => `${type}-trigger:${verb}`
  const creating = { scope: `tenant:${scope('create')}`, on: 'tenant', ...freeForm } as const

  http.post(path, { schema: schemas.create, config: creating }, async (request, reply) => {
    const id = await triggers.create(request.ctx, type, request.body as TriggerBody)
    return reply
      .code(201)
      .header('location', http.link(request, `/trigger-types/${type}/triggers/${id}`))
      .send()
  })
  http.get(path, { schema: schemas.list, config: { scope: scope('read') } }, async ({ ctx, query }, reply) =>
    sendList(reply, await triggers.list(ctx, type, query)),
  )
  http.get(`${path}/:triggerId`, { schema: schemas.get, config: { scope: scope('read') } }, async (request, reply) =>
    sendWithEtag(request, reply, await triggers.read(request.ctx, { type, id: request.params.triggerId })),
  )
  const updating = { scope: scope('update'), ...freeForm }
  http.put(`${path}/:triggerId`, { schema: schemas.update, config: updating }, async (request, reply) => {
    const { ctx, params, body, headers } = request
    await triggers.update(ctx, { type, id: params.triggerId }, body as TriggerBody, headers['if-match'])
    return reply.code(204).send()
  })
  http.delete(
    `${path}/:triggerId`,
    { schema: schemas.delete, config: { scope: scope('delete') } },
    async (request, reply) => {
      await triggers.delete(request.ctx, { type, id: request.params.triggerId }, request.headers['if-match'])
      return reply.code(204).send()
    },
  )
}
