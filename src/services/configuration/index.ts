import { Gateway } from '../../gateway/contract.ts'
import { heldBy, scopes } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { noConfigurations } from '../../kernel/device-configuration.ts'
import { configurationInstances } from './configuration.ts'
import { Configuration } from './contract.ts'
import { endpointConfigurations } from './device.ts'

export default defineService({
  name: 'configuration',
  provides: Configuration,
  needs: { gateway: Gateway },
  instances: configurationInstances,
  scopes: {
    'application:endpoint-config:read': heldBy.applicationReaders,
    ...scopes('application:endpoint-config', ['update', 'delete'], heldBy.applicationAdmins),
  },
  build: (_kit, { gateway }) => ({
    api: noConfigurations,
    device: [endpointConfigurations(noConfigurations, gateway)],
  }),
})
