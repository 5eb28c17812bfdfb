/** Declares service instances: the parts of the platform that users can configure, with a schema for each level. */
import type { Static, TSchema } from './schema.ts'

export type Level = 'tenant' | 'application' | 'version'

export interface ConfigurationProblem {
  /** Keys from the configuration down to the value. */
  path: string[]
  problem: string
}

/**
 * `C` is the type of the configuration of applications and versions, `T` is the type of the configuration of tenants. `readConfiguration`
 * returns values of these types.
 */
export interface ConfigurationInstance<C = unknown, T = unknown> {
  readonly name: string
  readonly serviceName: string
  readonly serviceGroup: string
  readonly description: string
  /** Absent if the instance has no REST interface. */
  readonly urlPrefix?: string
  /** A level without a schema accepts any JSON object. */
  readonly schemas: { readonly [level in Level]?: TSchema }
  /** True if a version may have any JSON value. A value that is not an object replaces the configuration of the application. */
  readonly anyJsonOfVersions?: boolean
  /** Checks rules that a JSON schema cannot express. */
  check?(config: never): ConfigurationProblem | undefined
  /**
   * An additional check of new configurations. It is for checks that take long. Stored configurations are read without it, so code that
   * reads them must expect any value.
   */
  checkNew?(config: never, tenantId: string): Promise<ConfigurationProblem | undefined>
  /** Ties the types of the configurations to the instance at compile time. It is never set. */
  readonly types?: { application: C; tenant: T }
}

type StaticOf<S> = S extends TSchema ? Static<S> : Record<string, unknown>

/**
 * Declares an instance. Fields with `defaulted` are optional for users; `readConfiguration` fills them in. The effective configuration of
 * a version is read with the schema for applications.
 */
export const defineInstance = <
  A extends TSchema | undefined = undefined,
  T extends TSchema | undefined = undefined,
>(definition: {
  name: string
  /** Name of the service to which the instance belongs. Default: the name of the instance in upper case. */
  serviceName?: string
  group: string
  description: string
  urlPrefix?: string
  schemas?: { application?: A; version?: TSchema; tenant?: T }
  anyJsonOfVersions?: boolean
  check?(config: StaticOf<A>): ConfigurationProblem | undefined
  checkNew?(config: StaticOf<A>, tenantId: string): Promise<ConfigurationProblem | undefined>
}): ConfigurationInstance<StaticOf<A>, StaticOf<T>> => {
  const { group, schemas = {}, serviceName = definition.name.toUpperCase(), ...rest } = definition
  return { ...rest, serviceName, serviceGroup: group, schemas: schemas as ConfigurationInstance['schemas'] }
}

/** Uses the same schema for applications and their versions. */
export const forApplicationAndVersion = <S extends TSchema>(schema: S) => ({ application: schema, version: schema })
