import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { TimeSeries } from './contract.ts'
import { createTimeSeries } from './service.ts'

export default defineService({
  name: 'time-series',
  provides: TimeSeries,
  needs: { applications: Applications },
  migrations: new URL('./migrations/', import.meta.url),
  build(kit, { applications }) {
    const service = createTimeSeries(kit, applications)
    return { api: service.api, start: service.start, stop: service.stop }
  },
})
