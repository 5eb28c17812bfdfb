/**
 * What this process keeps in mind, dropped by our own events: in the process that wrote, after the commit and before
 * the answer leaves; in the others as soon as they hear of it.
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

/** The configurations of one level, by instance. */
export type LevelConfigurations = ReadonlyMap<string, Record<string, unknown>>

export interface Memory {
  /** By application name. */
  documents: Cache<ApplicationDocument>
  /** By tenant: the whole list. */
  lists: Cache<Document>
  /** By version name. */
  versions: Cache<ApplicationVersionRef>
  /** By `placeKey`. */
  configurations: Cache<LevelConfigurations>
}

const mebibyte = 1024 * 1024

export const placeKey = (place: { tenantId: string; applicationName?: string; versionName?: string }) =>
  [place.tenantId, place.applicationName, place.versionName].filter((part) => part !== undefined).join('\n')

export function createMemory(bus: Bus): Memory {
  const sizeOf = ({ body }: Document) => (typeof body === 'string' ? 2 * body.length : body.length)
  const memory: Memory = {
    documents: createCache<ApplicationDocument>({ max: 32 * mebibyte, sizeOf, bus }),
    lists: createCache<Document>({ max: 32 * mebibyte, sizeOf, bus }),
    versions: createCache<ApplicationVersionRef>({ max: 16 * mebibyte, sizeOf: () => 400, bus }),
    configurations: createCache<LevelConfigurations>({ max: 64 * mebibyte, sizeOf: sizeOfLevel, bus }),
  }

  const dropApplication = ({ tenantId, applicationName }: ApplicationEvent) => {
    memory.documents.drop(applicationName)
    memory.lists.drop(tenantId)
  }
  for (const event of [ApplicationCreated, ApplicationUpdated, ApplicationDeleted]) bus.hear(event, dropApplication)
  for (const event of [VersionCreated, VersionUpdated, VersionDeleted]) bus.hear(event, dropApplication)
  memory.configurations.dropOn(ApplicationDeleted, placeKey)
  memory.versions.dropOn(VersionDeleted, ({ versionName }) => versionName)
  memory.configurations.dropOn(VersionDeleted, placeKey)
  memory.configurations.dropOn(ConfigurationChanged, placeKey)
  return memory
}

/** About what parsed JSON takes in memory, from its text. */
const sizeOfLevel = (level: LevelConfigurations) =>
  [...level.values()].reduce((sum, config) => sum + 4 * JSON.stringify(config).length + 100, 100)
