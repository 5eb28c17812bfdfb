import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { windowOfPage } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import { timeOf, timeText } from '../../kernel/times.ts'
import * as schemas from './schemas.ts'
import { readRefusals, type TrafficLogService } from './service.ts'
import { allTime, type Span } from './traffic-query.ts'

const endpointsMax = 1000

/** Converts inclusive bounds to a span. The whole last millisecond is included, because responses do not show microseconds. */
function spanOf({ fromCreatedAt, toCreatedAt }: { fromCreatedAt?: string; toCreatedAt?: string }, now: Date): Span {
  if (fromCreatedAt === undefined && toCreatedAt === undefined) return allTime
  const from =
    fromCreatedAt === undefined ? allTime.from : Math.max(allTime.from, momentOf('fromCreatedAt', fromCreatedAt, now))
  const to =
    toCreatedAt === undefined ? allTime.to : Math.min(allTime.to, momentOf('toCreatedAt', toCreatedAt, now) + 1)
  if (fromCreatedAt !== undefined && toCreatedAt !== undefined && to <= from)
    throw invalidField('toCreatedAt', 'expected a time that is not before fromCreatedAt')
  return { from, to }
}

function momentOf(field: string, text: string, now: Date): number {
  const time = timeOf(text, now)
  if (time === undefined) throw invalidField(field, `expected ${timeText}`)
  return time
}

export function routes(http: Http, log: TrafficLogService) {
  http.get(
    '/endpoint-traffic',
    { schema: schemas.listTraffic, config: { scope: 'endpoint:read' } },
    async ({ ctx, query }, reply) => {
      const endpointIds = endpointsOf(query.endpointIds)
      const { totalElements, content } = await log.list(ctx, {
        tenantId: query.tenantId,
        endpointIds,
        versionName: query.appVersionName,
        extension: query.extension,
        payload: query.payload,
        resourcePath: query.resourcePath,
        requestId: query.requestId,
        descending: query.sortOrder === 'desc',
        span: spanOf(query, log.now()),
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
      const endpointIds = endpointsOf(query.endpointIds)
      return reply.send(
        await log.listRefusals(ctx, {
          tenantId,
          reason,
          endpointIds,
          span: spanOf(query, log.now()),
          ...windowOfPage(query),
        }),
      )
    },
  )
}

/** Parses endpoint ids. Returns undefined if all endpoints are selected. */
function endpointsOf(text: string | string[] | undefined): string[] | undefined {
  const endpointIds = listOf(text)
  if (endpointIds && endpointIds.length > endpointsMax)
    throw invalidField('endpointIds', `expected at most ${endpointsMax} of them`)
  return endpointIds && endpointIds.length > 0 ? endpointIds : undefined
}
