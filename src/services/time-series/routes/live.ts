import type { Http } from '../../../kernel/http/routes.ts'
import { listOf } from '../../../kernel/schema.ts'
import * as schemas from '../schemas/points.ts'
import type { TimeSeriesService } from '../service.ts'

export function liveRoutes(http: Http, { live }: TimeSeriesService) {
  http.get(
    '/api/v1/applications/:applicationName/time-series/live',
    { schema: schemas.watch, config: { scope: ['endpoint:read', 'time-series:read'] } },
    async (request, reply) => {
      const { ctx, params, query, headers, callerNow } = request
      const lastEventId = headers['last-event-id']?.toString()
      const watched = {
        applicationName: params.applicationName,
        endpointIds: nonEmpty(listOf(query.endpointId)),
        seriesNames: nonEmpty(listOf(query.timeSeriesName)),
        initial: query.initial === true,
        lastEventId: lastEventId === '' ? undefined : lastEventId,
      }
      await live.watch(ctx, watched, callerNow, () => http.events(request, reply))
      return reply
    },
  )
}

/** Returns undefined for an empty list, so that it counts as absent. */
const nonEmpty = (list: string[] | undefined) => (list && list.length > 0 ? list : undefined)
