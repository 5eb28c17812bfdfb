import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { LiveStreams } from './contract.ts'
import { routes } from './routes.ts'
import { createLiveService } from './service.ts'
import { liveSettings } from './settings.ts'

export default defineService({
  name: 'live',
  provides: LiveStreams,
  needs: { applications: Applications, register: Register },
  settings: liveSettings,
  build(kit, services) {
    const service = createLiveService(kit, services)
    return {
      api: {},
      http: [
        {
          name: 'live',
          title: 'Live streams with topics',
          roots: ['/live/api/v1'],
          routes: (http) => routes(http, service, kit.live),
        },
      ],
      stop: service.stop,
    }
  },
})
