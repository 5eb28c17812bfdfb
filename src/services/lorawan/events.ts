import { defineEvent } from '../../kernel/bus.ts'

interface OfIntegration {
  tenantId: string
  appIntegrationId: number
}
const key = ({ appIntegrationId }: OfIntegration) => String(appIntegrationId)

export const AppIntegrationChanged = defineEvent<OfIntegration>('lorawan.app-integration.changed', {
  description:
    'An application integration was created, changed, suspended, resumed or deleted; its session is adapted on every node',
  key,
})

export const DeviceIntegrationsChanged = defineEvent<OfIntegration & { netDeviceIds: string[]; endpointIds: string[] }>(
  'lorawan.device-integrations.changed',
  {
    description:
      'Device integrations of an application integration were created, changed, suspended, resumed or deleted',
    key,
  },
)
