import { heldBy } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Commands } from '../commands/contract.ts'
import { Configuration } from '../configuration/contract.ts'
import { Register } from '../register/contract.ts'
import { cancelScope, readScope } from './access.ts'
import { Jobs } from './contract.ts'
import { defineTopic } from './live.ts'
import { routes } from './routes.ts'
import { createJobs } from './service.ts'

export default defineService({
  name: 'jobs',
  provides: Jobs,
  needs: { register: Register, commands: Commands, configuration: Configuration },
  scopes: { [readScope]: heldBy.endpointReaders, [cancelScope]: heldBy.endpointAdmins },
  build(kit, services) {
    const jobs = createJobs(kit, services)
    defineTopic(kit)
    return {
      api: {},
      http: [
        {
          name: 'jobs',
          title: 'Work over many endpoints, and the jobs of all services',
          roots: ['/jobs/api/v1'],
          routes: (http) => routes(http, jobs),
        },
      ],
    }
  },
})
