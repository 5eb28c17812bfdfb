import { Gateway } from '../../gateway/contract.ts'
import { heldBy, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { Software } from './contract.ts'
import { softwareExtension } from './device.ts'

export default defineService({
  name: 'software',
  provides: Software,
  needs: { gateway: Gateway },
  instances: [
    defineInstance({ name: 'otao', group: 'Software updates', description: 'Software versions', urlPrefix: '/otao' }),
    defineInstance({
      name: 'cmx_ota',
      serviceName: 'CMX',
      group: 'Software updates',
      description: 'Software update extension',
    }),
  ],
  scopes: {
    'application:software:read': heldBy.applicationReaders,
    ...scopes('application:software', ['update', 'delete'], heldBy.applicationAdmins),
  },
  build: (_kit, { gateway }) => ({ api: noConfigurations, device: [softwareExtension(noConfigurations, gateway)] }),
})
