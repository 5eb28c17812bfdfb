import { defineService } from '../../kernel/define-service.ts'
import { Credentials } from './contract.ts'
import { reactions } from './reactions.ts'
import { certificateRoutes, routes } from './routes.ts'
import { createCredentials } from './service.ts'

export default defineService({
  name: 'credentials',
  provides: Credentials,
  migrations: new URL('./migrations/', import.meta.url),
  build(kit) {
    const service = createCredentials(kit)
    reactions(kit.bus, service)
    return {
      api: service.api,
      http: [
        { name: 'credentials', routes: (http) => routes(http, service) },
        { name: 'certificates', routes: (http) => certificateRoutes(http, service) },
      ],
      periodic: [
        { name: 'credentials.expires-soon', everySeconds: 3600, run: (sql) => service.certificates.tellExpiring(sql) },
      ],
      stop: service.stop,
    }
  },
})
