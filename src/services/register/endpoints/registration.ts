import type { Identity } from '../../../identity/contract.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { create, needsGrant, requireVersionForRegistration, update } from '../access.ts'
import { endpointResourceName, type Register, type Relation } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { EndpointIdTaken, EndpointTokenTaken } from '../errors.ts'
import { EndpointRegistered } from '../events.ts'
import { type ConnectivityKeysOf, reservedKeys } from '../metadata/connectivity-keys.ts'
import { checkMetadata, type Metadata } from '../metadata/metadata.ts'
import type { LinkOutcome, RelationOperations } from '../relations/service.ts'
import { lockRelations } from '../relations/store.ts'
import { createRegisterAll, relationOf } from './registration-for-services.ts'
import * as store from './store/endpoints.ts'

/** A relation with an existing endpoint. The endpoint to register is the other end. */
export type RelationRequest = { type: 'contains'; from: string } | { type: 'contains'; to: string }

export interface Registration {
  appVersionName: string
  endpointId?: string | undefined
  endpointToken?: string | undefined
  metadata?: Metadata | undefined
  relations?: RelationRequest[] | undefined
  resourceGroupIds?: string[] | undefined
}

export interface Registered {
  endpointId: string
  token: string
  status: 'Inactive'
  /** Absent if all relations were created. */
  relations?: LinkOutcome
}

export interface NewEndpoint {
  endpointId: string
  metadata: Metadata
  token?: string | undefined
  resourceGroupIds?: string[] | undefined
}
export type CreationOutcome = { token: string; status: 'Inactive' } | 'id taken' | 'token taken'

export interface RegistrationOperations {
  register(ctx: Ctx, registration: Registration): Promise<Registered>
  /** Creates endpoints with distinct ids, their tokens and the grants of `creator`. Returns an outcome for each, in order. */
  createEndpoints(
    sql: Sql,
    version: ApplicationVersionRef,
    endpoints: NewEndpoint[],
    creator?: Ctx,
  ): Promise<CreationOutcome[]>
  registerAll: Register['registerAll']
}

export function createRegistrationOperations(
  kit: Kit,
  deps: {
    identity: Identity
    applications: Applications
    tokens: Tokens
    relations: RelationOperations
    changes: Changes
    connectivityKeys: ConnectivityKeysOf
  },
): RegistrationOperations {
  const { db, bus, now, newId } = kit
  const { identity, applications, tokens, relations, changes, connectivityKeys } = deps

  const createEndpoints: RegistrationOperations['createEndpoints'] = async (sql, version, endpoints, creator) => {
    const { tenantId, applicationName, versionName } = version
    const rows = await store.insertEndpoints(sql, { ...version, at: now() }, endpoints.map(rowOf))
    const seqById = new Map(rows.map(({ endpointId, seq }) => [endpointId, seq]))
    const inserted = endpoints.filter(({ endpointId }) => seqById.has(endpointId))
    const provisioned = await tokens.provision(sql, { tenantId, applicationName }, inserted)
    const tokenById = new Map(inserted.map(({ endpointId }, index) => [endpointId, provisioned[index]!]))
    const outcomes = endpoints.map(({ endpointId }): CreationOutcome => {
      const outcome = tokenById.get(endpointId)
      return outcome === undefined ? 'id taken' : outcome === 'taken' ? 'token taken' : outcome
    })
    const withTakenToken = endpoints.filter((_, index) => outcomes[index] === 'token taken')
    if (withTakenToken.length > 0)
      await store.deleteEndpoints(
        sql,
        withTakenToken.map(({ endpointId }) => endpointId),
      )
    const created = endpoints.filter((_, index) => typeof outcomes[index] === 'object')
    if (created.length === 0) return outcomes
    if (creator)
      await Promise.all(
        created.map(({ endpointId }) => identity.grantCreator(sql, creator, endpointResourceName(endpointId))),
      )
    if (changes.hasListeners())
      await changes.notify(
        sql,
        created.map(({ endpointId, metadata }) => ({
          tenantId,
          applicationName,
          endpointId,
          seq: seqById.get(endpointId)!,
          after: { versionName, metadata },
        })),
      )
    for (const endpointIds of splitForEvents(created.map(({ endpointId }) => endpointId)))
      await bus.publish(sql, EndpointRegistered, { tenantId, applicationName, versionName, endpointIds })
    return outcomes
  }

  return {
    createEndpoints,

    registerAll: createRegisterAll({ applications, relations, connectivityKeys, createEndpoints }),

    async register(ctx, registration) {
      const {
        appVersionName: name,
        endpointId = newId(),
        metadata = {},
        relations: relationRequests = [],
      } = registration
      checkMetadata(metadata, reservedKeys())
      const unknownVersion = () => invalidField('appVersion.name', `there is no application version ${name}`)
      const version = requireVersionForRegistration(
        ctx,
        await applications.findVersion(name),
        [create, update],
        unknownVersion,
      )
      checkMetadata(metadata, reservedKeys(await connectivityKeys(version)))
      const links = relationRequests.map((request): Relation => relationOf(request, endpointId))
      const related = [...new Set(links.flatMap(({ from, to }) => [from, to]))].filter((id) => id !== endpointId)

      const serialize = <T>(work: () => Promise<T>) =>
        links.length > 0 ? relations.serialize(version.tenantId, work) : work()
      return await serialize(() =>
        db.tx(async (sql) => {
          if (links.length > 0) {
            await lockRelations(sql, version.tenantId)
            await relations.lockLinkedEndpoints(sql, ctx, version.tenantId, related)
          }
          const { endpointToken: token, resourceGroupIds } = registration
          const creator = needsGrant(ctx, version) ? ctx : undefined
          const [outcome] = await createEndpoints(
            sql,
            version,
            [{ endpointId, metadata, token, resourceGroupIds }],
            creator,
          )
          // The transaction may have waited for a connection until after the deletion. Usually this reads the cache.
          if (!(await applications.findVersion(name))) throw unknownVersion()
          if (outcome === 'token taken') throw EndpointTokenTaken({ applicationName: version.applicationName })
          if (typeof outcome !== 'object') throw EndpointIdTaken({ endpointId })
          const linkOutcome = links.length > 0 ? await relations.connect(sql, version.tenantId, links) : undefined
          return {
            endpointId,
            ...outcome,
            ...(linkOutcome && linkOutcome.failed.length > 0 && { relations: linkOutcome }),
          }
        }),
      )
    },
  }
}

const rowOf = ({ endpointId, metadata, resourceGroupIds }: NewEndpoint): store.NewEndpoint => ({
  endpointId,
  metadata,
  ...(resourceGroupIds && { resourceGroupIds }),
})
