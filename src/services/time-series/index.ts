import { Gateway } from '../../gateway/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { TimeSeries } from './contract.ts'
import { reactions } from './reactions.ts'
import { routes } from './routes.ts'
import { createTimeSeries } from './service.ts'
import { timeSeriesSettings } from './settings.ts'

export default defineService({
  name: 'time-series',
  provides: TimeSeries,
  needs: { applications: Applications, register: Register, gateway: Gateway },
  migrations: new URL('./migrations/', import.meta.url),
  settings: timeSeriesSettings,
  build(kit, { applications, register, gateway }) {
    const service = createTimeSeries(kit, { applications, register })
    reactions(kit.bus, service)
    gateway.attach({ dcx: service.api, connectivity: service.connectivity })
    return {
      api: service.api,
      http: [
        {
          name: 'timeseries',
          title: 'Time series of what endpoints measure',
          roots: ['/epts'],
          routes: (http) => routes(http, service),
        },
      ],
      start: service.start,
      stop: service.stop,
    }
  },
})
