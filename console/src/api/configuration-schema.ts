/** The JSON schema of endpoint configurations: the schema of the version, or else the schema of its application. */
import { useMemo } from 'react'
import { useGet } from './query.ts'

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Returns the schema at these keys below `ecr.platform.applications`, where the API nests the configuration of an application or a version.
 */
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

/**
 * Returns the schema, or undefined if the version has no schema. It does not use `configurations.schemas.get`, which responds with 404 for
 * most versions.
 */
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
