import type { ConfigurationInstance } from '../../kernel/configuration.ts'
import type { ReadConfiguration } from '../../kernel/configuration-reader.ts'
import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'

export interface ApplicationVersionRef {
  tenantId: string
  applicationName: string
  versionName: string
}

export interface Applications {
  /**
   * Returns whether the tenant of the context has this application. Inside a transaction, callers pass `sql` to this function and to
   * `findVersion`. The result then comes from the database instead of the cache, and no second connection is needed.
   */
  exists(ctx: Ctx, application: { name: string }, sql?: Sql): Promise<boolean>
  /** Returns the names of the application's versions, sorted. Returns undefined if the tenant of the context has no such application. */
  versionNames(ctx: Ctx, application: { name: string }): Promise<string[] | undefined>
  /** Finds a version by its name. The name is unique on the platform, because a device sends it before its tenant is known. */
  findVersion(versionName: string, sql?: Sql): Promise<ApplicationVersionRef | undefined>
  /**
   * Returns the effective configuration of a service instance: the keys of the version take precedence over the keys of the application.
   * As in all functions of this contract that read configurations, the schema of the instance adds defaults and removes invalid parts.
   */
  configuration<C>(query: {
    tenantId: string
    instance: ConfigurationInstance<C>
    applicationName: string
    versionName?: string
  }): Promise<ReadConfiguration<C>>
  /**
   * Returns a function that computes a value from the configuration of a version, with `read`. Values are cached until the configuration
   * changes, and a cached value is returned without a promise. The returned function is fast enough to be called for every message.
   */
  derivedConfiguration<C, T>(
    instance: ConfigurationInstance<C>,
    read: (config: C, version: ApplicationVersionRef) => T,
  ): (version: ApplicationVersionRef) => T | Promise<T>
  /**
   * Returns a page of a tenant's applications: all, or only the applications with these `names`, ordered by name. Each application has its
   * configuration of the instance and the configurations of its versions.
   */
  configurationPage<C>(query: {
    tenantId: string
    instance: ConfigurationInstance<C>
    names?: string[] | undefined
    after: string
    limit: number
  }): Promise<{ applicationName: string; configurations: C[] }[]>
  /**
   * Yields each different effective configuration that versions of these applications have: all versions, or only the versions with these
   * `versionNames`.
   */
  versionConfigurations<C>(query: {
    tenantId: string
    instance: ConfigurationInstance<C>
    applicationNames: string[]
    versionNames?: string[] | undefined
  }): AsyncIterable<C>
  tenantConfiguration<T>(query: { tenantId: string; instance: ConfigurationInstance<unknown, T> }): Promise<T>
  /** Registers a kind of objects that use applications. An application or version in use cannot be deleted (409). */
  addUsage(usage: ApplicationUsage): void
}

/** Counts objects of a service that use an application or one of its versions. */
export interface ApplicationUsage {
  /** Plural name of the objects, for the text of the 409. */
  plural: string
  count(sql: Sql, target: { tenantId: string; applicationName: string; versionName?: string }): Promise<number>
}
export const Applications = contract<Applications>('applications')
