import { heldBy, Identity } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { BinaryData } from '../binary-data/contract.ts'
import { Commands } from '../commands/contract.ts'
import { Configuration } from '../configuration/contract.ts'
import { Register } from '../register/contract.ts'
import { TimeSeries } from '../time-series/contract.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import { cancelScope, readScope } from './access.ts'
import { Jobs } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { exportRoutes } from './exports/routes.ts'
import { defineTopic } from './live.ts'
import { routes } from './routes.ts'
import { createJobs } from './service.ts'

export default defineService({
  // The name also determines the database schema: bulk_jobs. The schema jobs belongs to the job queue.
  name: 'bulk-jobs',
  provides: Jobs,
  needs: {
    identity: Identity,
    register: Register,
    commands: Commands,
    configuration: Configuration,
    timeSeries: TimeSeries,
    trafficLog: TrafficLog,
    binaryData: BinaryData,
  },
  migrations: new URL('./migrations/', import.meta.url),
  scopes: { [readScope]: heldBy.endpointReaders, [cancelScope]: heldBy.endpointAdmins },
  build(kit, services) {
    const jobs = createJobs(kit, services)
    defineTopic(kit)
    registerEventHandlers(kit, jobs)
    return {
      api: {},
      http: [
        {
          name: 'jobs',
          title: 'Work over many endpoints, and the jobs of all services',
          roots: ['/jobs/api/v1'],
          routes(http) {
            routes(http, jobs)
            exportRoutes(http, jobs)
          },
        },
      ],
      periodic: [{ name: 'jobs.delete-files', everySeconds: 600, run: () => jobs.exports.deleteExpired() }],
    }
  },
})
