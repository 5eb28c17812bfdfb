import { defineEvent } from '../../kernel/bus.ts'
import type { Relation } from './contract.ts'

interface ApplicationKey {
  tenantId: string
  applicationName: string
}
interface OfEndpoint extends ApplicationKey {
  endpointId: string
}

// Events with the same key are delivered in order. An event about several endpoints concerns one application.
const byApplication = ({ applicationName }: ApplicationKey) => applicationName
const byEndpoint = ({ endpointId }: OfEndpoint) => endpointId

export const EndpointRegistered = defineEvent<ApplicationKey & { versionName: string; endpointIds: string[] }>(
  'register.endpoint.registered',
  {
    description: 'Endpoints were registered in a version (9/ELCE); long lists are divided into several events',
    key: byApplication,
  },
)

export const EndpointUnregistered = defineEvent<ApplicationKey & { endpointIds: string[]; unregisteredDate: string }>(
  'register.endpoint.unregistered',
  {
    description:
      'Endpoints were unregistered (9/ELCE); long lists are divided into several events. Services delete their ' +
      'data of these endpoints, except data of an endpoint that was registered again with the same id after ' +
      '`unregisteredDate`',
    key: byApplication,
  },
)

export const VersionUpdated = defineEvent<OfEndpoint & { versionName: string; previousVersionName: string }>(
  'register.endpoint.version-updated',
  { description: 'An endpoint moved to another version of its application (9/ELCE)', key: byEndpoint },
)

/** The metadata keys that a change added, updated and removed. Values are JSON texts (15/EME). */
export interface MetadataDifference {
  added: Record<string, string>
  updated: Record<string, { newValue: string; oldValue: string }>
  removed: Record<string, string>
}

export const MetadataUpdated = defineEvent<
  /** `cause` names the run of a rule that made the change. It is absent for other changes. */
  OfEndpoint & { versionName: string; cause?: string } & MetadataDifference
>('register.endpoint.metadata-updated', {
  description: 'Metadata of an endpoint changed (15/EME); values are JSON texts',
  key: byEndpoint,
})

export const RelationsUpdated = defineEvent<{ tenantId: string; linked: Relation[]; unlinked: Relation[] }>(
  'register.relations.updated',
  {
    description:
      'Endpoints were linked or unlinked (24/EPRMP); not published when an unregistered endpoint loses its ' +
      'relations',
  },
)

interface FilterKey extends ApplicationKey {
  filterId: string
}
const byFilter = ({ filterId }: FilterKey) => filterId

export const FilterPending = defineEvent<FilterKey>('register.filter.pending', {
  description: 'A filter was created or got a new query, and its members are being searched (18/EFE)',
  key: byFilter,
})

export const FilterActivated = defineEvent<FilterKey>('register.filter.activated', {
  description: 'The members of a filter are found (18/EFE); the filter can be used',
  key: byFilter,
})

export const FilterDeleted = defineEvent<FilterKey>('register.filter.deleted', {
  description: 'A filter was deleted (18/EFE), alone or with its application; not published when a tenant is deleted',
  key: byFilter,
})

export const EndpointsMatched = defineEvent<FilterKey & { endpointIds: string[] }>('register.filter.matched', {
  description: 'Endpoints began to match an active filter (18/EFE); long lists are divided into several events',
  key: byFilter,
})

export const EndpointsUnmatched = defineEvent<FilterKey & { endpointIds: string[] }>('register.filter.unmatched', {
  description:
    'Endpoints ceased to match an active filter, or were unregistered (18/EFE); long lists are divided into ' +
    'several events. Not published when a filter gets a new query: its activation replaces all members',
  key: byFilter,
})
