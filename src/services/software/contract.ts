import { contract } from '../../kernel/contract.ts'
import type { DeviceConfigurations } from '../../kernel/device-configuration.ts'

export type Software = DeviceConfigurations
export const Software = contract<Software>('software')
