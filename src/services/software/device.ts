import type { Gateway } from '../../gateway/contract.ts'
import type { Extension } from '../../kernel/device.ts'
import { configurationExtension, unchanged } from '../../kernel/device-configuration.ts'
import type { Software } from './contract.ts'

/** Extension `cmx_ota` (7/CMP): `configId` is a software version, `config` its specification. Without one, the response is `{}`. */
export const softwareExtension = (software: Software, gateway: Pick<Gateway, 'observe'>): Extension =>
  configurationExtension({ name: 'cmx_ota', configurations: software, none: unchanged, observe: gateway.observe })
