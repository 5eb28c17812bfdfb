import { heldBy } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { timeSeriesInstances } from './configuration.ts'
import { TimeSeries } from './contract.ts'
import { createEnrichment } from './device/enrichment.ts'
import { dataCollection, receiveFor, samplesOf } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createTimeSeries } from './service.ts'
import { timeSeriesSettings } from './settings.ts'

export default defineService({
  name: 'time-series',
  provides: TimeSeries,
  needs: { applications: Applications, register: Register },
  migrations: new URL('./migrations/', import.meta.url),
  settings: timeSeriesSettings,
  instances: timeSeriesInstances,
  scopeNouns: { 'time-series': 'time series', 'timeseries-config': 'configurations of time series' },
  scopes: {
    'application:timeseries-config:read': heldBy.endpointReaders,
    'time-series:read': heldBy.endpointReaders,
    'time-series:update': heldBy.endpointAdmins,
  },
  build(kit, { applications, register }) {
    const service = createTimeSeries(kit, { applications, register })
    registerEventHandlers(kit.bus, service)
    const collection = dataCollection({
      timeSeries: service.api,
      enriched: createEnrichment(kit, register, applications),
      bus: kit.bus,
      connectivityChanged: service.connectivity.changed,
    })
    return {
      api: { ...service.api, receive: receiveFor(collection, kit), samplesOf },
      device: [collection],
      http: [
        {
          name: 'timeseries',
          title: 'Time series of the values that endpoints report',
          roots: ['/epts'],
          routes: (http) => routes(http, service),
        },
      ],
      start: service.start,
      stop: service.stop,
    }
  },
})
