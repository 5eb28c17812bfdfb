import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from '../schemas/points.ts'
import type { TimeSeriesService } from '../service.ts'

export function pointRoutes(http: Http, { points }: TimeSeriesService) {
  http.put(
    '/api/v1/app-versions/:appVersionName/time-series/data',
    // Keys of the body are endpoint ids and series names, so any key is valid.
    {
      schema: schemas.putPoints,
      config: { scope: ['endpoint:update', 'time-series:update'], anyJson: true, audited: false },
    },
    async ({ ctx, params, body }, reply) => {
      await points.put(ctx, params.appVersionName, body)
      return reply.code(204).send()
    },
  )
}
