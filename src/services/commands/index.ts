import { Gateway } from '../../gateway/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Commands } from './contract.ts'
import { commandExtension } from './device.ts'

/** Nothing can be invoked yet, so that no command is ever outstanding. */
const noCommands: Commands = { outstanding: async () => [], results: async () => 0 }

export default defineService({
  name: 'commands',
  provides: Commands,
  needs: { gateway: Gateway },
  build: (_kit, { gateway }) => ({ api: noCommands, device: [commandExtension(noCommands, gateway)] }),
})
