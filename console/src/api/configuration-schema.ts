/** The JSON schema of endpoint configurations: that of the version, else of its application. */
import { useMemo } from 'react'
import { useGet } from './query.ts'

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Configurations of service instances are nested by tenant, application and version. */
function schemaIn(document: unknown, keys: string[]): unknown {
  let part = document
  for (const key of ['ecr', 'platform', 'applications', ...keys]) {
    if (!isObject(part) || !Object.hasOwn(part, key)) return undefined
    part = part[key]
  }
  const text = isObject(part) ? part.endpointConfigurationSchema : undefined
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the settings and not `configurations.schemas.get`, because that is a 404 for most versions. Undefined: there is no schema. */
export function useConfigurationSchema(appName: string, appVersionName: string): unknown {
  const enabled = appName !== '' && appVersionName !== ''
  const instance = { serviceInstanceName: 'ecr' }
  const version = useGet(
    'applications.versions.configurations.get',
    { appName, appVersionName, ...instance },
    { enabled },
  )
  const application = useGet('applications.configurations.get', { appName, ...instance }, { enabled })
  return useMemo(
    () => schemaIn(version.data, [appName, 'versions', appVersionName]) ?? schemaIn(application.data, [appName]),
    [version.data, application.data, appName, appVersionName],
  )
}
