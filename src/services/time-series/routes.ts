import type { Http } from '../../kernel/http/routes.ts'
import { configRoutes } from './routes/config.ts'
import { dataRoutes } from './routes/data.ts'
import { lastRoutes } from './routes/last.ts'
import { liveRoutes } from './routes/live.ts'
import { pointRoutes } from './routes/put-points.ts'
import { retentionRoutes } from './routes/retention.ts'
import type { TimeSeriesService } from './service.ts'

export function routes(http: Http, service: TimeSeriesService) {
  configRoutes(http, service)
  dataRoutes(http, service)
  lastRoutes(http, service)
  liveRoutes(http, service)
  pointRoutes(http, service)
  retentionRoutes(http, service)
}
