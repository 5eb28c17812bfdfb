import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { TimeSeries } from '../time-series/contract.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import { clientRoutes } from './client-routes.ts'
import { Ingest } from './contract.ts'
import { engineFormat } from './error-format.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createIngest } from './service.ts'
import { ingestSettings } from './settings.ts'

export default defineService({
  name: 'ingest',
  provides: Ingest,
  needs: { applications: Applications, timeSeries: TimeSeries, trafficLog: TrafficLog },
  migrations: new URL('./migrations/', import.meta.url),
  settings: ingestSettings,
  instances: [
    defineInstance({ name: 'asf', group: 'Data collection', description: 'Ingest pipelines', urlPrefix: '/asf' }),
  ],
  build(kit, needs) {
    const service = createIngest(kit, needs)
    registerEventHandlers(kit.bus, service.deletions)
    return {
      api: {},
      http: [
        {
          name: 'ingest',
          title: 'Ingest pipelines, templates, and search of documents',
          roots: ['/asf/api/v1'],
          errorFormat: engineFormat,
          routes: (http) => routes(http, service),
        },
        {
          name: 'ingest',
          roots: ['/asf/api/v1'],
          errorFormat: engineFormat,
          routes: (http) => clientRoutes(http, service),
        },
      ],
      periodic: service.periodic,
      start: service.start,
      stop: service.stop,
    }
  },
})
