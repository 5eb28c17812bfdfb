import { Gateway } from '../../gateway/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { Software } from './contract.ts'
import { softwareExtension } from './device.ts'

export default defineService({
  name: 'software',
  provides: Software,
  needs: { gateway: Gateway },
  build: (_kit, { gateway }) => ({ api: noConfigurations, device: [softwareExtension(noConfigurations, gateway)] }),
})
