import type { Gateway } from '../../gateway/contract.ts'
import type { Extension } from '../../kernel/device.ts'
import { configurationExtension, type DeviceConfigurations, unchanged } from '../../kernel/device-configuration.ts'

/**
 * Extension `cmx_ota` (7/CMP). `configId` is a software version and `config` its specification. The response is `{}` if there is no new
 * version for the device.
 */
export const softwareExtension = (software: DeviceConfigurations, gateway: Pick<Gateway, 'observe'>): Extension =>
  configurationExtension({ name: 'cmx_ota', configurations: software, none: unchanged, observe: gateway.observe })
