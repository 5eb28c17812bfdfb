import { invalidField } from '../../../../kernel/errors.ts'
import type { Http } from '../../../../kernel/http/routes.ts'
import * as schemas from '../schemas/links.ts'
import type { LinkOperations } from '../service/links.ts'

type Ids = (string | { id: string })[]
const idsOf = (given: Ids) => given.map((one) => (typeof one === 'string' ? one : one.id))
const triggersOf = (body: Ids | { triggerIds: Ids }) => idsOf(Array.isArray(body) ? body : body.triggerIds)

interface ActionLists {
  positiveActionIds?: Ids
  negativeActionIds?: Ids
  positiveActions?: Ids
  negativeActions?: Ids
}

/** Reads the two lists under either of their names. An object with none of them is rejected, because it may be misspelled. */
function actionsOf(body: ActionLists) {
  for (const sign of ['positive', 'negative'] as const)
    if (body[`${sign}Actions`] && body[`${sign}ActionIds`])
      throw invalidField(`${sign}ActionIds`, `is given twice, also as ${sign}Actions`)
  const positive = body.positiveActionIds ?? body.positiveActions
  const negative = body.negativeActionIds ?? body.negativeActions
  if (!positive && !negative) throw invalidField('positiveActionIds', 'expected this or negativeActionIds')
  return { positive: idsOf(positive ?? []), negative: idsOf(negative ?? []) }
}

export function linkRoutes(http: Http, links: LinkOperations) {
  const read = { scope: 'rule:read' }
  const update = { scope: 'rule:update' }
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
      await links.setActions(ctx, { ruleId: params.ruleId, type: params.actionType }, actionsOf(body))
      return reply.code(204).send()
    },
  )
}
