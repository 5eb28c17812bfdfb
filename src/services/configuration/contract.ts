import { contract } from '../../kernel/contract.ts'
import type { DeviceConfigurations } from '../../kernel/device-configuration.ts'

export type Configuration = DeviceConfigurations
export const Configuration = contract<Configuration>('configuration')
