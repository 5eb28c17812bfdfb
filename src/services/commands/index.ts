import { Gateway } from '../../gateway/contract.ts'
import { heldBy } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Commands } from './contract.ts'
import { commandExtension } from './device.ts'

/** Commands cannot be created yet, so none is ever outstanding. */
const noCommands: Commands = { outstanding: async () => [], results: async () => 0 }

export default defineService({
  name: 'commands',
  provides: Commands,
  needs: { gateway: Gateway },
  instances: [defineInstance({ name: 'cex', group: 'Command invocation', description: 'Commands', urlPrefix: '/cex' })],
  scopes: { 'application:endpoint-command:read': heldBy.endpointReaders },
  build: (_kit, { gateway }) => ({ api: noCommands, device: [commandExtension(noCommands, gateway)] }),
})
