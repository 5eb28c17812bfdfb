import { bodyLimitBytes as bodyBytesMax } from '../../../../kernel/http/body.ts'
import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import * as schemas from '../schemas/rules.ts'
import type { RuleOperations } from '../service/rules.ts'
import { sendWithEtag } from './answers.ts'

const path = '/rules/:ruleId'

export function ruleRoutes(http: Http, rules: RuleOperations) {
  http.post(
    '/rules',
    { schema: schemas.createRule, config: { scope: 'tenant:rule:create', on: 'tenant', bodyBytesMax } },
    async (request, reply) => {
      const id = await rules.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/rules/${id}`))
        .send()
    },
  )
  http.get('/rules', { schema: schemas.listRules, config: { scope: 'rule:read' } }, async ({ ctx, query }, reply) =>
    sendList(reply, await rules.list(ctx, query)),
  )
  http.get(path, { schema: schemas.getRule, config: { scope: 'rule:read' } }, async (request, reply) =>
    sendWithEtag(request, reply, await rules.read(request.ctx, request.params.ruleId)),
  )
  http.put(
    path,
    { schema: schemas.updateRule, config: { scope: 'rule:update', bodyBytesMax } },
    async (request, reply) => {
      const { ctx, params, body, headers } = request
      await rules.update(ctx, params.ruleId, body, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.delete(path, { schema: schemas.deleteRule, config: { scope: 'rule:delete' } }, async (request, reply) => {
    await rules.delete(request.ctx, request.params.ruleId, request.headers['if-match'])
    return reply.code(204).send()
  })
  http.get(
    `${path}/versions`,
    { schema: schemas.listVersions, config: { scope: 'rule:read' } },
    ({ ctx, params, query }) => rules.listVersions(ctx, { id: params.ruleId, ...query }),
  )
  http.get(
    `${path}/versions/:version`,
    { schema: schemas.getVersion, config: { scope: 'rule:read' } },
    ({ ctx, params }) => rules.readVersion(ctx, { id: params.ruleId, version: params.version }),
  )
}
