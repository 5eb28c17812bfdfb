import type { Http } from '../../../kernel/http/routes.ts'
import { sendList } from '../../../kernel/http/send.ts'
import * as schemas from './schemas.ts'
import type { DeadLetters } from './service/dead-letters.ts'
import type { Executions } from './service/executions.ts'
import type { Replays } from './service/replays.ts'
import type { TraceQueries } from './service/trace-queries.ts'
import type { Try } from './service/tries.ts'

export interface EngineOperations {
  executions: Executions
  traces: TraceQueries
  tryRule: Try
  replays: Replays
  deadLetters: DeadLetters
}

export function engineRoutes(http: Http, operations: EngineOperations) {
  const { executions, traces } = operations
  http.post(
    '/rules/:ruleId/execute',
    { schema: schemas.executeRule, config: { scope: 'rule:execute', anyJson: true, bodyOptional: true } },
    ({ ctx, params, body }) => executions.execute(ctx, params.ruleId, body),
  )
  http.post(
    '/expressions/evaluation',
    { schema: schemas.evaluateExpression, config: { scope: 'authenticated', anyJson: 'inside' } },
    async ({ ctx, body }, reply) =>
      reply.type('application/json').send(JSON.stringify(await executions.evaluate(ctx, body))),
  )
  http.get('/traces', { schema: schemas.listTraces, config: { scope: 'rule:read' } }, async ({ ctx, query }, reply) =>
    sendList(reply, await traces.list(ctx, query)),
  )
  http.delete(
    '/traces',
    { schema: schemas.deleteTraces, config: { scope: 'rule:delete', on: 'tenant' } },
    async ({ ctx, query }, reply) => {
      await traces.delete(ctx, query.beforeDate)
      return reply.code(204).send()
    },
  )
  tryRoutes(http, operations)
  deadLetterRoutes(http, operations)
}

function tryRoutes(http: Http, { tryRule, replays }: EngineOperations) {
  http.post(
    '/rules/:ruleId/try',
    { schema: schemas.tryRule, config: { scope: 'rule:execute', anyJson: 'inside', bodyOptional: true } },
    ({ ctx, params, body }) => tryRule(ctx, params.ruleId, body),
  )
  http.post(
    '/rules/:ruleId/replays',
    { schema: schemas.createReplay, config: { scope: 'rule:execute', bodyBytesMax: 1024 * 1024 } },
    async (request, reply) => {
      const { ruleId } = request.params
      const replayId = await replays.create(request.ctx, ruleId, request.body)
      return reply
        .code(202)
        .header('location', http.link(request, `/rules/${ruleId}/replays/${replayId}`))
        .send({ replayId })
    },
  )
  http.get(
    '/rules/:ruleId/replays/:replayId',
    { schema: schemas.getReplay, config: { scope: 'rule:execute' } },
    ({ ctx, params }) => replays.read(ctx, params.ruleId, params.replayId),
  )
  http.get(
    '/rules/:ruleId/replays',
    { schema: schemas.listReplays, config: { scope: 'rule:execute' } },
    ({ ctx, params, query }) => replays.list(ctx, params.ruleId, query),
  )
  http.post(
    '/rules/:ruleId/replays/:replayId/cancel',
    { schema: schemas.cancelReplay, config: { scope: 'rule:execute' } },
    async ({ ctx, params }, reply) => reply.send(await replays.cancel(ctx, params.ruleId, params.replayId)),
  )
}

function deadLetterRoutes(http: Http, { deadLetters }: EngineOperations) {
  http.get('/dead-letters', { schema: schemas.listDeadLetters, config: { scope: 'rule:read' } }, ({ ctx, query }) =>
    deadLetters.list(ctx, query),
  )
  http.post(
    '/dead-letters/:deadLetterId/retry',
    { schema: schemas.retryDeadLetter, config: { scope: 'rule:execute' } },
    async ({ ctx, params }, reply) => {
      await deadLetters.retry(ctx, params.deadLetterId)
      return reply.code(204).send()
    },
  )
  http.delete(
    '/dead-letters/:deadLetterId',
    { schema: schemas.deleteDeadLetter, config: { scope: 'rule:delete' } },
    async ({ ctx, params }, reply) => {
      await deadLetters.delete(ctx, params.deadLetterId)
      return reply.code(204).send()
    },
  )
}
