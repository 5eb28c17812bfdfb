import { contract } from '../../kernel/contract.ts'
import type { EndpointWork } from '../register/contract.ts'

export interface EffectiveConfiguration {
  name: string
  configId: string
  /** The JSON value. */
  config: unknown
}

/** A configuration for the endpoints of a bulk job. */
export interface ConfigurationForMany {
  name: string
  /** Any JSON value. */
  config: unknown
}

export interface Configuration {
  /** Returns the effective configuration of an endpoint: its own configuration, otherwise the default of its version. */
  effective(
    endpoint: { tenantId: string; versionName: string; endpointId: string },
    name?: string,
  ): Promise<EffectiveConfiguration | undefined>
  /** A configuration for many endpoints as a bulk task. */
  work: EndpointWork<ConfigurationForMany>
}
export const Configuration = contract<Configuration>('configuration')
