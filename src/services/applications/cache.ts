/**
 * Caches of the service. The events of the service invalidate the caches: on the writing node after the commit and before the response, on
 * other nodes when the event arrives.
 */
import type { Bus } from '../../kernel/bus.ts'
import { type Cache, createCache } from '../../kernel/cache.ts'
import type { Document } from '../../kernel/document.ts'
import type { ApplicationVersionRef } from './contract.ts'
import type { ApplicationDocument } from './document.ts'
import {
  ApplicationCreated,
  ApplicationDeleted,
  type ApplicationEvent,
  ApplicationUpdated,
  ConfigurationChanged,
  VersionCreated,
  VersionDeleted,
  VersionUpdated,
} from './events.ts'

/** Configurations of a tenant, an application or a version, by instance. */
export type LevelConfigurations = ReadonlyMap<string, Record<string, unknown>>

export interface Caches {
  /** Documents by application name. */
  documents: Cache<ApplicationDocument>
  /** Whole lists by tenant id. */
  lists: Cache<Document>
  /** Versions by version name. */
  versions: Cache<ApplicationVersionRef>
  /** Configurations by `levelKey`. */
  configurations: Cache<LevelConfigurations>
}

const mebibyte = 1024 * 1024

export const levelKey = (level: { tenantId: string; applicationName?: string; versionName?: string }) =>
  [level.tenantId, level.applicationName, level.versionName].filter((part) => part !== undefined).join('\n')

export function createCaches(bus: Bus): Caches {
  const sizeOf = ({ body }: Document) => (typeof body === 'string' ? 2 * body.length : body.length)
  const caches: Caches = {
    documents: createCache<ApplicationDocument>({ max: 32 * mebibyte, sizeOf, bus }),
    lists: createCache<Document>({ max: 32 * mebibyte, sizeOf, bus }),
    versions: createCache<ApplicationVersionRef>({ max: 16 * mebibyte, sizeOf: () => 400, bus }),
    configurations: createCache<LevelConfigurations>({ max: 64 * mebibyte, sizeOf: sizeOfLevel, bus }),
  }

  const dropApplication = ({ tenantId, applicationName }: ApplicationEvent) => {
    caches.documents.drop(applicationName)
    caches.lists.drop(tenantId)
  }
  for (const event of [ApplicationCreated, ApplicationUpdated, ApplicationDeleted])
    bus.subscribe(event, dropApplication)
  for (const event of [VersionCreated, VersionUpdated, VersionDeleted]) bus.subscribe(event, dropApplication)
  caches.configurations.dropOn(ApplicationDeleted, levelKey)
  caches.versions.dropOn(VersionDeleted, ({ versionName }) => versionName)
  caches.configurations.dropOn(VersionDeleted, levelKey)
  caches.configurations.dropOn(ConfigurationChanged, levelKey)
  return caches
}

/** Estimates the memory of parsed JSON by the length of its text. */
const sizeOfLevel = (level: LevelConfigurations) =>
  [...level.values()].reduce((sum, config) => sum + 4 * JSON.stringify(config).length + 100, 100)
