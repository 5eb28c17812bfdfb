/** Assembles the service: the operations for routes.ts and the contract for other services. */
import type { Identity } from '../../identity/contract.ts'
import type { ConfigurationInstance } from '../../kernel/configuration.ts'
import { readConfiguration } from '../../kernel/configuration-reader.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createCaches } from './cache.ts'
import type { Applications } from './contract.ts'
import { createDerivedConfiguration } from './derived-configuration.ts'
import {
  type ApplicationOperations,
  createApplicationOperations,
  streamArray,
  streamDocuments,
} from './service/applications.ts'
import { mergedConfiguration } from './service/configuration-effective.ts'
import { type ConfigurationOperations, createConfigurationOperations } from './service/configurations.ts'
import { createUsages } from './service/usages.ts'
import { createVersionOperations, type VersionOperations } from './service/versions.ts'
import type { ApplicationsSettings } from './settings.ts'
import { findApplication, findConfigurationPairs, findConfigurationsOf, findVersions } from './store.ts'

type Paged = Omit<Parameters<typeof findConfigurationsOf>[1], 'instance'>
type OfVersions = Omit<Parameters<typeof findConfigurationPairs>[1], 'instance'>

const applicationsPerStatement = 500

export interface ApplicationsService {
  applications: ApplicationOperations
  versions: VersionOperations
  configurations: ConfigurationOperations
  /** Yields one JSON text in parts: the applications of all tenants, and the configurations of these applications. */
  exportAll(selection: {
    serviceInstances: object[]
    instances: string[] | undefined
    applicationNames: string[] | undefined
  }): AsyncIterable<string>
  instances: Kit['instances']
  api: Applications
}

export function createApplications(kit: Kit<ApplicationsSettings>, identity: Identity): ApplicationsService {
  const caches = createCaches(kit.bus)
  const usages = createUsages()
  const applications = createApplicationOperations(kit, identity, caches, usages)
  const versions = createVersionOperations(kit, applications, caches, usages)
  const configurations = createConfigurationOperations({ kit, identity, applications, caches })
  return {
    applications,
    versions,
    configurations,
    instances: kit.instances,
    async *exportAll({ serviceInstances, instances, applicationNames }) {
      yield `{"serviceInstances":${JSON.stringify(serviceInstances)},"applications":`
      yield* streamArray(streamDocuments(kit.db.sql, { names: applicationNames }))
      yield ',"appConfigs":'
      yield* configurations.exportAll({ instances, applicationNames })
      yield '}'
    },
    api: {
      async exists(ctx, { name }, sql) {
        const application = sql ? await findApplication(sql, name) : await applications.find(name)
        return application?.tenantId === ctx.tenantId
      },
      async versionNames(ctx, { name }) {
        if ((await applications.find(name))?.tenantId !== ctx.tenantId) return undefined
        return (await findVersions(kit.db.sql, name)).map((version) => version.name)
      },
      findVersion: versions.findOwner,
      configuration: configurations.effective,
      derivedConfiguration: createDerivedConfiguration(kit, configurations.effective),
      async configurationPage<C>({ instance, ...request }: Paged & { instance: ConfigurationInstance<C> }) {
        const page = await findConfigurationsOf(kit.db.sql, { ...request, instance: instance.name })
        return page.map(({ applicationName, configurations: stored }) => ({
          applicationName,
          configurations: stored.map((one) => readConfiguration(instance, 'application', one).config as C),
        }))
      },
      async *versionConfigurations<C>({ instance, ...given }: OfVersions & { instance: ConfigurationInstance<C> }) {
        for (let start = 0; start < given.applicationNames.length; start += applicationsPerStatement) {
          const applicationNames = given.applicationNames.slice(start, start + applicationsPerStatement)
          const pairs = await findConfigurationPairs(kit.db.sql, {
            ...given,
            applicationNames,
            instance: instance.name,
          })
          for (const { ofApplication, ofVersion } of pairs)
            yield mergedConfiguration(instance, ofApplication ?? undefined, ofVersion ?? undefined).config
        }
      },
      tenantConfiguration: configurations.effectiveForTenant,
      addUsage: usages.add,
    },
  }
}
