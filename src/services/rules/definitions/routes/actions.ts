import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import { actionTypes } from '../../model.ts'
import { actionTypeDefinitions } from '../action-types.ts'
import { actionSchemas } from '../schemas/actions.ts'
import type { ActionBody, ActionOperations } from '../service/actions.ts'
import { sendWithEtag } from './answers.ts'

const bodyBytesMax = 1024 * 1024

export function actionRoutes(http: Http, actions: ActionOperations) {
  for (const type of actionTypes) {
    const definition = actionTypeDefinitions[type]
    const schemas = actionSchemas(definition)
    const path = `/action-types/${type}/actions`
    const scope = (verb: string) => `${type}-action:${verb}`
    const needs = [...definition.needs, ...(type === 'rule-execution' ? ['rule:execute'] : [])]
    const creating = { scope: [`tenant:${scope('create')}`, ...needs], bodyBytesMax }
    // The service checks rule:execute itself, on the rule that the body names.
    const onCreate = type === 'rule-execution' ? creating : { ...creating, on: 'tenant' as const }

    http.post(path, { schema: schemas.create, config: onCreate }, async (request, reply) => {
      const id = await actions.create(request.ctx, type, request.body as ActionBody)
      return reply
        .code(201)
        .header('location', http.link(request, `${path}/${id}`))
        .send()
    })
    http.get(path, { schema: schemas.list, config: { scope: scope('read') } }, async ({ ctx, query }, reply) =>
      sendList(reply, await actions.list(ctx, type, query)),
    )
    http.get(`${path}/:actionId`, { schema: schemas.get, config: { scope: scope('read') } }, async (request, reply) =>
      sendWithEtag(request, reply, await actions.read(request.ctx, { type, id: request.params.actionId })),
    )
    const updating = { scope: [scope('update'), ...needs], bodyBytesMax }
    http.put(`${path}/:actionId`, { schema: schemas.update, config: updating }, async (request, reply) => {
      const { ctx, params, body, headers } = request
      await actions.update(ctx, { type, id: params.actionId }, body as ActionBody, headers['if-match'])
      return reply.code(204).send()
    })
    const deleting = { scope: scope('delete') }
    http.delete(`${path}/:actionId`, { schema: schemas.delete, config: deleting }, async (request, reply) => {
      await actions.delete(request.ctx, { type, id: request.params.actionId }, request.headers['if-match'])
      return reply.code(204).send()
    })
  }
}
