import { defineService } from '../../kernel/define-service.ts'
import { TimeSync } from './contract.ts'
import { timeSynchronisation } from './device.ts'

export default defineService({
  name: 'time-sync',
  provides: TimeSync,
  build: ({ now }) => ({ api: {}, device: [timeSynchronisation(now)] }),
})
