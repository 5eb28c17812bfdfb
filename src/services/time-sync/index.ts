import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { TimeSync } from './contract.ts'
import { timeSynchronisation } from './device.ts'

export default defineService({
  name: 'time-sync',
  provides: TimeSync,
  instances: [defineInstance({ name: 'tsx', group: 'Communication', description: 'Time synchronization extension' })],
  build: ({ now }) => ({ api: {}, device: [timeSynchronisation(now)] }),
})
