import { defineEvent } from '../../kernel/bus.ts'

interface ConfigurationName {
  tenantId: string
  versionName: string
  /** The name of the configuration. `default` stands for the configuration without a name. */
  name: string
}

export const ConfigurationUpdated = defineEvent<
  ConfigurationName & {
    /** Absent if the configuration was deleted. */
    configId?: string
    /** Absent if the default of the version changed. */
    endpointIds?: string[]
  }
>('configuration.configuration.updated', {
  description:
    'A configuration was written or deleted (6/CDTP): of endpoints, or the default of a version. Long lists are divided into ' +
    'several events. Published only if a service handles it',
})

export interface AppliedReport {
  endpointId: string
  versionName: string
  name: string
  configId: string
  statusCode: number
  reasonPhrase?: string
}

export const ConfigurationApplied = defineEvent<{ tenantId: string; reports: AppliedReport[] }>(
  'configuration.configuration.applied',
  {
    description:
      'Devices reported that they have applied configurations, or could not (6/CDTP): `statusCode` 2xx means applied. ' +
      'Published only if a service handles it',
  },
)
