import type { Gateway } from '../../gateway/contract.ts'
import type { DeviceEndpoint, Extension, Push } from '../../kernel/device.ts'
import {
  configurationExtension,
  type DeviceConfigurations,
  noConfiguration,
} from '../../kernel/device-configuration.ts'

interface Configurations extends DeviceConfigurations {
  handedOver(endpoint: DeviceEndpoint, push: Push): void
}

/** Extension `cmx` (7/CMP): configurations of endpoints. */
export const endpointConfigurations = (
  configurations: Configurations,
  gateway: Pick<Gateway, 'observe'>,
): Extension => ({
  ...configurationExtension({ name: 'cmx', configurations, none: noConfiguration, observe: gateway.observe }),
  handedOver: configurations.handedOver,
})
