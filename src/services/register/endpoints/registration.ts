import type { Identity } from '../../../identity/contract.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { create, needsGrant, permittedVersion, update } from '../access.ts'
import { endpointResourceName, type Relation } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { EndpointIdTaken, EndpointTokenTaken } from '../errors.ts'
import { EndpointRegistered } from '../events.ts'
import { type FollowKeys, reservedIn } from '../metadata/connectivity-keys.ts'
import { checkMetadata, type Metadata } from '../metadata/metadata.ts'
import type { LinkOutcome, RelationRules } from '../relations/service.ts'
import { lockRelations } from '../relations/store.ts'
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

export interface Admission {
  endpointId: string
  metadata: Metadata
  token?: string | undefined
  resourceGroupIds?: string[] | undefined
}
export type Admitted = { token: string; status: 'Inactive' } | 'id taken' | 'token taken'

export interface RegistrationRules {
  register(ctx: Ctx, registration: Registration): Promise<Registered>
  /** Creates endpoints with distinct ids, their tokens and the grants of `creator`. Returns an outcome for each, in order. */
  admit(sql: Sql, into: ApplicationVersionRef, endpoints: Admission[], creator?: Ctx): Promise<Admitted[]>
}

export function createRegistrationRules(
  kit: Kit,
  deps: {
    identity: Identity
    applications: Applications
    tokens: Tokens
    relations: RelationRules
    changes: Changes
    connectivityKeys: FollowKeys
  },
): RegistrationRules {
  const { db, bus, now, newId } = kit
  const { identity, applications, tokens, relations, changes, connectivityKeys } = deps

  const admit: RegistrationRules['admit'] = async (sql, into, endpoints, creator) => {
    const { tenantId, applicationName, versionName } = into
    const rows = await store.insertEndpoints(sql, { ...into, at: now() }, endpoints.map(asRow))
    const numbers = new Map(rows.map(({ endpointId, seq }) => [endpointId, seq]))
    const fresh = endpoints.filter(({ endpointId }) => numbers.has(endpointId))
    const provisioned = await tokens.provision(sql, { tenantId, applicationName }, fresh)
    const provided = new Map(fresh.map(({ endpointId }, index) => [endpointId, provisioned[index]!]))
    const outcomes = endpoints.map(({ endpointId }): Admitted => {
      const outcome = provided.get(endpointId)
      return outcome === undefined ? 'id taken' : outcome === 'taken' ? 'token taken' : outcome
    })
    const refused = endpoints.filter((_, index) => outcomes[index] === 'token taken')
    if (refused.length > 0)
      await store.deleteEndpoints(
        sql,
        refused.map(({ endpointId }) => endpointId),
      )
    const admitted = endpoints.filter((_, index) => typeof outcomes[index] === 'object')
    if (admitted.length === 0) return outcomes
    if (creator)
      await Promise.all(
        admitted.map(({ endpointId }) => identity.grantCreator(sql, creator, endpointResourceName(endpointId))),
      )
    if (changes.hasListeners())
      await changes.notify(
        sql,
        admitted.map(({ endpointId, metadata }) => ({
          tenantId,
          applicationName,
          endpointId,
          seq: numbers.get(endpointId)!,
          after: { versionName, metadata },
        })),
      )
    for (const endpointIds of splitForEvents(admitted.map(({ endpointId }) => endpointId)))
      await bus.publish(sql, EndpointRegistered, { tenantId, applicationName, versionName, endpointIds })
    return outcomes
  }

  return {
    admit,

    async register(ctx, registration) {
      const { appVersionName: name, endpointId = newId(), metadata = {}, relations: wanted = [] } = registration
      checkMetadata(metadata, reservedIn())
      const missing = () => invalidField('appVersion.name', `there is no application version ${name}`)
      const into = permittedVersion(ctx, await applications.findVersion(name), [create, update], missing)
      checkMetadata(metadata, reservedIn(await connectivityKeys(into)))
      const links = wanted.map((request): Relation => relationOf(request, endpointId))
      const related = [...new Set(links.flatMap(({ from, to }) => [from, to]))].filter((id) => id !== endpointId)

      const inTurn = <T>(work: () => Promise<T>) =>
        links.length > 0 ? relations.serialize(into.tenantId, work) : work()
      return await inTurn(() =>
        db.tx(async (sql) => {
          if (links.length > 0) {
            await lockRelations(sql, into.tenantId)
            await relations.holdRelated(sql, ctx, into.tenantId, related)
          }
          const { endpointToken: token, resourceGroupIds } = registration
          const creator = needsGrant(ctx, into) ? ctx : undefined
          const [outcome] = await admit(sql, into, [{ endpointId, metadata, token, resourceGroupIds }], creator)
          if (outcome === 'token taken') throw EndpointTokenTaken({ applicationName: into.applicationName })
          if (typeof outcome !== 'object') throw EndpointIdTaken({ endpointId })
          const made = links.length > 0 ? await relations.connect(sql, into.tenantId, links) : undefined
          return { endpointId, ...outcome, ...(made && made.failed.length > 0 && { relations: made }) }
        }),
      )
    },
  }
}

const asRow = ({ endpointId, metadata, resourceGroupIds }: Admission): store.NewEndpoint => ({
  endpointId,
  metadata,
  ...(resourceGroupIds && { resourceGroupIds }),
})

const relationOf = (request: RelationRequest, self: string): Relation =>
  'from' in request
    ? { type: request.type, from: request.from, to: self }
    : { type: request.type, from: self, to: request.to }
