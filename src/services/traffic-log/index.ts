import { defineService } from '../../kernel/define-service.ts'
import { TrafficLog } from './contract.ts'
import { createTrafficLog } from './service.ts'

export default defineService({
  name: 'traffic-log',
  provides: TrafficLog,
  migrations: new URL('./migrations/', import.meta.url),
  build(kit) {
    const service = createTrafficLog(kit)
    return {
      api: service.api,
      periodic: [{ name: 'traffic-log.partitions', everySeconds: 3600, run: service.renewPartitions }],
      start: service.start,
      stop: service.stop,
    }
  },
})
