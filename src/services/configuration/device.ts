import type { Gateway } from '../../gateway/contract.ts'
import type { Extension } from '../../kernel/device.ts'
import { configurationExtension, noConfiguration } from '../../kernel/device-configuration.ts'
import type { Configuration } from './contract.ts'

/** Extension `cmx` (7/CMP): configurations of endpoints. */
export const endpointConfigurations = (configurations: Configuration, gateway: Pick<Gateway, 'observe'>): Extension =>
  configurationExtension({ name: 'cmx', configurations, none: noConfiguration, observe: gateway.observe })
