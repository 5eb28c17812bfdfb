import { contract } from '../../kernel/contract.ts'

export interface EffectiveConfiguration {
  name: string
  configId: string
  /** The JSON value. */
  config: unknown
}

export interface Configuration {
  /** Returns the configuration that is effective for an endpoint: its own, else the default of its version. */
  effective(
    endpoint: { tenantId: string; versionName: string; endpointId: string },
    name?: string,
  ): Promise<EffectiveConfiguration | undefined>
}
export const Configuration = contract<Configuration>('configuration')
