/** Assembles the service: the functions that routes call, and the API for other services. */
import type { Identity } from '../../identity/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Tokens } from '../tokens/contract.ts'
import type { Register } from './contract.ts'
import type { Changes } from './endpoint-changes.ts'
import { type BatchRules, createBatchRules } from './endpoints/batches.ts'
import { createRegistrationRules, type RegistrationRules } from './endpoints/registration.ts'
import { selected } from './endpoints/selection.ts'
import { createEndpointRules, type EndpointRules } from './endpoints/service.ts'
import * as counts from './endpoints/store/counts.ts'
import * as store from './endpoints/store/endpoints.ts'
import type { FilterIndex } from './filters/filter-index.ts'
import { foldFilterCounts } from './filters/store/filters.ts'
import { createListRules, type ListRules } from './lists/service.ts'
import type { FollowKeys } from './metadata/connectivity-keys.ts'
import { wholeMetadata } from './metadata/metadata.ts'
import { createMetadataRules, type MetadataRules } from './metadata/service.ts'
import { createRelationRules, type RelationRules } from './relations/service.ts'
import { findRelated } from './relations/store.ts'
import { createTenantRules, type TenantRules } from './tenant-deletion.ts'

export interface RegisterService {
  endpoints: EndpointRules
  lists: ListRules
  registration: RegistrationRules
  metadata: MetadataRules
  relations: RelationRules
  batches: BatchRules
  tenants: TenantRules
  api: Register
}

export function createRegister(
  kit: Kit,
  given: { identity: Identity; applications: Applications; tokens: Tokens },
  seams: { changes: Changes; filters: FilterIndex; connectivityKeys: FollowKeys },
): RegisterService {
  const { db } = kit
  const deps = { ...given, ...seams }
  const relations = createRelationRules(kit)
  const registration = createRegistrationRules(kit, { ...deps, relations })
  const endpoints = createEndpointRules(kit, deps)
  const metadata = createMetadataRules(kit, deps)
  const find: Register['find'] = (endpointId) => store.findRef(db.sql, endpointId)

  given.applications.addUsage({
    what: 'endpoints',
    async count(sql, { tenantId, applicationName, versionName }) {
      await store.lockApplication(sql, applicationName)
      const versionNames = versionName === undefined ? undefined : [versionName]
      return await counts.countEndpoints(sql, { tenantId, applicationNames: [applicationName], versionNames })
    },
  })

  return {
    endpoints,
    lists: createListRules(kit, seams.filters),
    registration,
    metadata,
    relations,
    batches: createBatchRules(kit, { ...deps, registration }),
    tenants: createTenantRules(kit),
    api: {
      find,
      findAll: async (ids) => new Map((await store.findRefs(db.sql, ids)).map((ref) => [ref.endpointId, ref])),
      async metadataOf(endpointId) {
        const row = await store.findEndpoint(db.sql, endpointId)
        return row && wholeMetadata(row)
      },
      updateMetadata: metadata.change,
      setConnectivity: metadata.setConnectivity,
      setVersion: endpoints.followVersion,
      related: (endpointId, direction) => findRelated(db.sql, { endpointId, direction, limit: 1000 }),
      async findFilter(tenantId, filterId) {
        const [filter] = await seams.filters.find(db.sql, tenantId, [filterId])
        return filter
      },
      findFilters: seams.filters.find,
      selected,
      relation: store.endpointRelation,
      filtersOf: (endpointId) => seams.filters.idsOf(db.sql, endpointId),
      matchesOf: seams.filters.matchesOf,
    },
  }
}

export async function foldAll(sql: Sql) {
  await counts.foldCounts(sql)
  await foldFilterCounts(sql)
}
