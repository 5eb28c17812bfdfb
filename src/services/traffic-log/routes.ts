import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { windowOfPage } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import { always, type Span } from './question.ts'
import * as schemas from './schemas.ts'
import { readRefusals, type TrafficLogService } from './service.ts'

const endpointsMax = 1000

/** Both bounds are within; what we show is cut to milliseconds, so the whole of the last one is meant. */
function spanOf({ fromCreatedAt, toCreatedAt }: { fromCreatedAt?: string; toCreatedAt?: string }): Span {
  if (fromCreatedAt === undefined && toCreatedAt === undefined) return always
  const from = fromCreatedAt === undefined ? always.from : Math.max(always.from, Date.parse(fromCreatedAt))
  const to = toCreatedAt === undefined ? always.to : Math.min(always.to, Date.parse(toCreatedAt) + 1)
  if (fromCreatedAt !== undefined && toCreatedAt !== undefined && to <= from)
    throw invalidField('toCreatedAt', 'expected a moment that is not before fromCreatedAt')
  return { from, to }
}

export function routes(http: Http, log: TrafficLogService) {
  http.get(
    '/endpoint-traffic',
    { schema: schemas.listTraffic, config: { scope: 'endpoint:read' } },
    async ({ ctx, query }, reply) => {
      const endpointIds = listOf(query.endpointIds)
      if (endpointIds && endpointIds.length > endpointsMax)
        throw invalidField('endpointIds', `expected at most ${endpointsMax} of them`)
      const { totalElements, content } = await log.list(ctx, {
        tenantId: query.tenantId,
        endpointIds: endpointIds && endpointIds.length > 0 ? endpointIds : undefined,
        versionName: query.appVersionName,
        extension: query.extension,
        payload: query.payload,
        resourcePath: query.resourcePath,
        requestId: query.requestId,
        descending: query.sortOrder === 'desc',
        span: spanOf(query),
        offset: query.page * query.size,
        limit: query.size,
      })
      return reply.send({ totalElements, content })
    },
  )

  http.get(
    '/refusals',
    { schema: schemas.listRefusals, config: { scope: readRefusals, on: 'tenant' } },
    async ({ ctx, query }, reply) => {
      const { reason, tenantId } = query
      return reply.send(await log.listRefusals(ctx, { tenantId, reason, span: spanOf(query), ...windowOfPage(query) }))
    },
  )
}
