import { heldBy } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { trafficLogInstances } from './configuration.ts'
import { TrafficLog } from './contract.ts'
import { requestStatus } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createTrafficLog, packSeconds } from './service.ts'
import { trafficLogSettings } from './settings.ts'

export default defineService({
  name: 'traffic-log',
  provides: TrafficLog,
  needs: { applications: Applications },
  migrations: new URL('./migrations/', import.meta.url),
  settings: trafficLogSettings,
  instances: trafficLogInstances,
  scopeNouns: { refusal: 'refused connections and messages' },
  scopes: { 'tenant:refusal:read': heldBy.tenantAdmins },
  build(kit, { applications }) {
    const service = createTrafficLog(kit, applications)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      http: [
        {
          name: 'traffic',
          title: 'Messages that endpoints sent and received, and refused connections',
          roots: ['/api/v1/al', '/al/api/v1'],
          routes: (http) => routes(http, service),
        },
      ],
      device: [requestStatus(service)],
      periodic: [
        { name: 'traffic-log.partitions', everySeconds: 3600, run: service.renewPartitions },
        {
          name: 'traffic-log.pack',
          everySeconds: packSeconds,
          run: service.pack,
          pauseSeconds: service.packPauseSeconds,
        },
        { name: 'traffic-log.convert', everySeconds: 30, run: service.convertLegacyRows },
        { name: 'traffic-log.size', everySeconds: 60, run: service.limitSize },
      ],
      start: service.start,
      stop: service.stop,
    }
  },
})
