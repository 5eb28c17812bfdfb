import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { Executions } from './service/executions.ts'
import type { TraceQueries } from './service/trace-queries.ts'

export interface EngineOperations {
  executions: Executions
  traces: TraceQueries
}

export function engineRoutes(http: Http, { executions, traces }: EngineOperations) {
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
  http.get('/traces', { schema: schemas.listTraces, config: { scope: 'rule:read' } }, ({ ctx, query }) =>
    traces.list(ctx, query),
  )
  http.delete(
    '/traces',
    { schema: schemas.deleteTraces, config: { scope: 'rule:delete', on: 'tenant' } },
    async ({ ctx, query }, reply) => {
      await traces.delete(ctx, query.beforeDate)
      return reply.code(204).send()
    },
  )
}
