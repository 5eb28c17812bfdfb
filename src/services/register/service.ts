/** Assembles the service: the functions that routes call, and the API for other services. */
import type { Identity } from '../../identity/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Tokens } from '../tokens/contract.ts'
import { createWorks, taskEndpoints } from './bulk/works.ts'
import type { Register } from './contract.ts'
import { createDirectory, type Directory } from './directory/service.ts'
import type { Changes } from './endpoint-changes.ts'
import { type BatchOperations, createBatchOperations } from './endpoints/batches.ts'
import { createRegistrationOperations, type RegistrationOperations } from './endpoints/registration.ts'
import { requireActiveSet, selectionPage } from './endpoints/selection.ts'
import { createEndpointOperations, type EndpointOperations } from './endpoints/service.ts'
import * as counts from './endpoints/store/counts.ts'
import * as store from './endpoints/store/endpoints.ts'
import type { FilterIndex } from './filters/filter-index.ts'
import { foldFilterCounts } from './filters/store/filters.ts'
import { memberPage } from './filters/store/members.ts'
import { createExportPage, createSelection } from './lists/select.ts'
import { createListOperations, type ListOperations } from './lists/service.ts'
import type { ConnectivityKeysOf } from './metadata/connectivity-keys.ts'
import { visibleMetadata } from './metadata/metadata.ts'
import { createMetadataOperations, type MetadataOperations } from './metadata/service.ts'
import { createRelationOperations, type RelationOperations } from './relations/service.ts'
import { findRelated } from './relations/store.ts'
import { createTenantDeletion, type TenantDeletion } from './tenant-deletion.ts'

export interface RegisterService {
  endpoints: EndpointOperations
  lists: ListOperations
  directory: Directory
  registration: RegistrationOperations
  metadata: MetadataOperations
  relations: RelationOperations
  batches: BatchOperations
  tenants: TenantDeletion
  api: Register
}

export function createRegister(
  kit: Kit,
  services: { identity: Identity; applications: Applications; tokens: Tokens },
  parts: { changes: Changes; filters: FilterIndex; connectivityKeys: ConnectivityKeysOf },
): RegisterService {
  const { db } = kit
  const deps = { ...services, ...parts }
  const relations = createRelationOperations(kit)
  const registration = createRegistrationOperations(kit, { ...deps, relations })
  const endpoints = createEndpointOperations(kit, deps)
  const metadata = createMetadataOperations(kit, deps)
  const directory = createDirectory(kit, services.applications, parts.filters)
  const find: Register['find'] = (endpointId) => store.findRef(db.sql, endpointId)

  services.applications.addUsage({
    plural: 'endpoints',
    async count(sql, { tenantId, applicationName, versionName }) {
      await store.lockApplication(sql, applicationName)
      const versionNames = versionName === undefined ? undefined : [versionName]
      return await counts.countEndpoints(sql, { tenantId, applicationNames: [applicationName], versionNames })
    },
  })

  return {
    endpoints,
    lists: createListOperations(kit, parts.filters),
    directory,
    registration,
    metadata,
    relations,
    batches: createBatchOperations(kit, { ...deps, registration }),
    tenants: createTenantDeletion(kit),
    api: {
      find,
      registerAll: registration.registerAll,
      unregisterAll: endpoints.unregisterAll,
      findAll: async (ids) => new Map((await store.findRefs(db.sql, ids)).map((ref) => [ref.endpointId, ref])),
      async metadataOf(endpointId) {
        const row = await store.findEndpoint(db.sql, endpointId)
        return row && visibleMetadata(row)
      },
      updateMetadata: metadata.change,
      setConnectivity: metadata.setConnectivity,
      setVersion: endpoints.setReportedVersion,
      noteActivity: directory.noteActivity,
      placeSeriesOf: directory.placeSeriesOf,
      reportPlace: directory.reportPlace,
      relatedEndpoints: (endpointId, direction) => findRelated(db.sql, { endpointId, direction, limit: 1000 }),
      async findFilter(tenantId, filterId) {
        const [filter] = await parts.filters.find(db.sql, tenantId, [filterId])
        return filter
      },
      findFilters: parts.filters.find,
      selectionPage,
      memberSet: requireActiveSet,
      memberPage,
      selectEndpoints: createSelection(kit.now, parts.filters),
      exportPage: createExportPage(kit, parts.filters),
      taskEndpoints,
      works: createWorks(kit, { ...deps, endpoints, metadata }),
      relation: store.endpointRelation,
      containments: relations.containments,
      matchingFilters: (endpointId) => parts.filters.idsOf(db.sql, endpointId),
      matchesOf: parts.filters.matchesOf,
    },
  }
}

export async function foldAllCounts(sql: Sql) {
  await counts.foldCounts(sql)
  await foldFilterCounts(sql)
}
