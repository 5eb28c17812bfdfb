import type { Http } from '../../../kernel/http/routes.ts'
import { listOf } from '../../../kernel/schema.ts'
import * as schemas from '../schemas/points.ts'
import type { TimeSeriesService } from '../service.ts'

export function configRoutes(http: Http, { configured }: TimeSeriesService) {
  http.get(
    '/api/v1/time-series/config',
    { schema: schemas.readConfig, config: { scope: 'application:timeseries-config:read' } },
    async ({ ctx, query }) => {
      const names = listOf(query.applicationNames)
      return await configured.list(ctx, names && names.length > 0 ? names : undefined)
    },
  )
}
