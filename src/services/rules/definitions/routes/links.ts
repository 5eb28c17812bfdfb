import type { Http } from '../../../../kernel/http/routes.ts'
import * as schemas from '../schemas/links.ts'
import type { LinkOperations } from '../service/links.ts'

type Ids = (string | { id: string })[]
const idsOf = (ids: Ids) => ids.map((one) => (typeof one === 'string' ? one : one.id))
const triggersOf = (body: Ids | { triggerIds: Ids }) => idsOf(Array.isArray(body) ? body : body.triggerIds)

const listOf = (ids: Ids | undefined) => ids && idsOf(ids)

export function linkRoutes(http: Http, links: LinkOperations) {
  const read = { scope: 'rule:read' }
  const update = { scope: 'rule:update', bodyBytesMax: 1024 * 1024 }
  http.get('/rules/:ruleId/triggers', { schema: schemas.listTriggers, config: read }, ({ ctx, params }) =>
    links.triggersOf(ctx, params.ruleId),
  )
  http.get('/rules/:ruleId/actions', { schema: schemas.listActions, config: read }, ({ ctx, params }) =>
    links.actionsOf(ctx, params.ruleId),
  )
  http.put(
    '/rules/:ruleId/trigger-types/:triggerType/triggers',
    { schema: schemas.putTriggers, config: update },
    async ({ ctx, params, body }, reply) => {
      await links.setTriggers(ctx, { ruleId: params.ruleId, type: params.triggerType }, triggersOf(body))
      return reply.code(204).send()
    },
  )
  http.patch(
    '/rules/:ruleId/trigger-types/cron/triggers',
    { schema: schemas.addSchedules, config: update },
    async ({ ctx, params, body }, reply) => {
      await links.setTriggers(ctx, { ruleId: params.ruleId, type: 'cron', keep: true }, triggersOf(body))
      return reply.code(204).send()
    },
  )
  http.put(
    '/rules/:ruleId/action-types/:actionType/actions',
    { schema: schemas.putActions, config: update },
    async ({ ctx, params, body }, reply) => {
      const { positiveActionIds, negativeActionIds, positiveActions, negativeActions } = body
      const named = {
        positiveActionIds: listOf(positiveActionIds),
        negativeActionIds: listOf(negativeActionIds),
        positiveActions: listOf(positiveActions),
        negativeActions: listOf(negativeActions),
      }
      await links.setActions(ctx, { ruleId: params.ruleId, type: params.actionType }, named)
      return reply.code(204).send()
    },
  )
}
