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
   * Whether the tenant of the context has this application. `sql`: whoever holds a transaction asks with it, here and
   * below. A second connection might never come free, and the answer is what is stored, not what is remembered.
   */
  exists(ctx: Ctx, application: { name: string }, sql?: Sql): Promise<boolean>
  /** Version names are unique on the platform; a device names one before its tenant is known. */
  findVersion(versionName: string, sql?: Sql): Promise<ApplicationVersionRef | undefined>
  /**
   * The effective configuration of a service instance: application level, overridden key by key by the version's. Here and below
   * it is read by the schema of the instance: with its defaults, without what violates it.
   */
  configuration<C>(of: {
    tenantId: string
    instance: ConfigurationInstance<C>
    applicationName: string
    versionName?: string
  }): Promise<ReadConfiguration<C>>
  /**
   * What the configuration of an instance means for a version, for those who ask for every message: read once, remembered until
   * it changes, and given at once where it is known.
   */
  follow<C, T>(
    instance: ConfigurationInstance<C>,
    read: (config: C, of: ApplicationVersionRef) => T,
  ): (of: ApplicationVersionRef) => T | Promise<T>
  /**
   * The applications of a tenant, or these of them, in the order of their names, page after page: what an instance is
   * configured with at the application and at each of its versions.
   */
  configurationsOf<C>(of: {
    tenantId: string
    instance: ConfigurationInstance<C>
    names?: string[] | undefined
    after: string
    limit: number
  }): Promise<{ applicationName: string; configurations: C[] }[]>
  tenantConfiguration<T>(of: { tenantId: string; instance: ConfigurationInstance<unknown, T> }): Promise<T>
  /** While somebody uses an application or version, it cannot be deleted: services that hold such things say so here. */
  addUsage(usage: ApplicationUsage): void
}

/** How many things of yours hang on this application (or on one version of it), for the 409 of a deletion. */
export interface ApplicationUsage {
  what: string
  count(sql: Sql, of: { tenantId: string; applicationName: string; versionName?: string }): Promise<number>
}
export const Applications = contract<Applications>('applications')
