import { defineEvent } from '../../kernel/bus.ts'
import type { Relation } from './contract.ts'

interface OfApplication {
  tenantId: string
  applicationName: string
}
interface OfEndpoint extends OfApplication {
  endpointId: string
}

// Told by the batch, for one application at a time; what happens to one endpoint is told in order.
const byApplication = ({ applicationName }: OfApplication) => applicationName
const byEndpoint = ({ endpointId }: OfEndpoint) => endpointId

export const EndpointRegistered = defineEvent<OfApplication & { versionName: string; endpointIds: string[] }>(
  'register.endpoint.registered',
  {
    description: 'Endpoints were registered in a version (9/ELCE), as many in one event as a message takes',
    key: byApplication,
  },
)

export const EndpointUnregistered = defineEvent<OfApplication & { endpointIds: string[]; unregisteredDate: string }>(
  'register.endpoint.unregistered',
  {
    description:
      'Endpoints were unregistered (9/ELCE), as many in one event as a message takes: whatever a service keeps of them ' +
      'goes too, but an endpoint that was registered anew under the id since `unregisteredDate` stays',
    key: byApplication,
  },
)

export const VersionUpdated = defineEvent<OfEndpoint & { versionName: string; previousVersionName: string }>(
  'register.endpoint.version-updated',
  { description: 'An endpoint moved to another version of its application (9/ELCE)', key: byEndpoint },
)

/** Values are JSON texts (15/EME). */
export interface MetadataDifference {
  added: Record<string, string>
  updated: Record<string, { newValue: string; oldValue: string }>
  removed: Record<string, string>
}

export const MetadataUpdated = defineEvent<OfEndpoint & { versionName: string } & MetadataDifference>(
  'register.endpoint.metadata-updated',
  { description: 'Metadata of an endpoint changed (15/EME): keys with their values as JSON texts', key: byEndpoint },
)

export const RelationsUpdated = defineEvent<{ tenantId: string; linked: Relation[]; unlinked: Relation[] }>(
  'register.relations.updated',
  { description: 'Endpoints were linked or unlinked (24/EPRMP); an unregistered endpoint loses its relations untold' },
)

interface OfFilter extends OfApplication {
  filterId: string
}
const byFilter = ({ filterId }: OfFilter) => filterId

export const FilterPending = defineEvent<OfFilter>('register.filter.pending', {
  description: 'A filter is new or has a new query, and its endpoints are being found (18/EFE)',
  key: byFilter,
})

export const FilterActivated = defineEvent<OfFilter>('register.filter.activated', {
  description: 'The endpoints of a filter are found (18/EFE): it can be used, and they are all that it matches now',
  key: byFilter,
})

export const FilterDeleted = defineEvent<OfFilter>('register.filter.deleted', {
  description: 'A filter was deleted (18/EFE), alone or with its application; of a deleted tenant it is not told',
  key: byFilter,
})

export const EndpointsMatched = defineEvent<OfFilter & { endpointIds: string[] }>('register.filter.matched', {
  description: 'Endpoints came to match an active filter (18/EFE), as many in one event as a message takes',
  key: byFilter,
})

export const EndpointsUnmatched = defineEvent<OfFilter & { endpointIds: string[] }>('register.filter.unmatched', {
  description:
    'Endpoints match an active filter no more, or were unregistered (18/EFE), as many in one event as a message takes; ' +
    'when a filter gets a new query, its new endpoints are told as a whole by its activation',
  key: byFilter,
})
