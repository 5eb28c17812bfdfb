/** Creates endpoints with their tokens, in the transaction of the caller. */
import type { Identity } from '../../../identity/contract.ts'
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { ApplicationVersionRef } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { endpointResourceName } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { EndpointRegistered } from '../events.ts'
import type { Metadata } from '../metadata/metadata.ts'
import * as store from './store/endpoints.ts'

export interface NewEndpoint {
  endpointId: string
  /** A version of the same application. Default: the `version` that the function gets for all endpoints. */
  versionName?: string
  metadata: Metadata
  token?: string | undefined
  resourceGroupIds?: string[] | undefined
}
export type CreationOutcome = { token: string; status: 'Inactive' } | 'id taken' | 'token taken'

/** Creates endpoints with distinct ids, their tokens and the grants of `creator`. Returns an outcome for each endpoint, in order. */
export type CreateEndpoints = (
  sql: Sql,
  version: ApplicationVersionRef,
  endpoints: NewEndpoint[],
  creator?: Ctx,
) => Promise<CreationOutcome[]>

interface Deps extends Pick<Kit, 'now' | 'bus'> {
  identity: Identity
  tokens: Tokens
  changes: Changes
}

export const createEndpointsWith =
  ({ now, bus, identity, tokens, changes }: Deps): CreateEndpoints =>
  async (sql, version, endpoints, creator) => {
    const { tenantId, applicationName } = version
    const rows = await store.insertEndpoints(
      sql,
      { tenantId, applicationName, at: now() },
      endpoints.map((endpoint) => rowOf(endpoint, version)),
    )
    const seqById = new Map(rows.map(({ endpointId, seq }) => [endpointId, seq]))
    const inserted = endpoints.filter(({ endpointId }) => seqById.has(endpointId))
    const provisioning = tokens.provision(sql, { tenantId, applicationName }, inserted)
    // The first statements of listeners are sent after the statement of the tokens, in the same round trip.
    if (inserted.length > 0) changes.prepare(sql, { tenantId, applicationName })
    const provisioned = await provisioning
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
        created.map(({ endpointId, metadata, versionName = version.versionName }) => ({
          tenantId,
          applicationName,
          endpointId,
          seq: seqById.get(endpointId)!,
          after: { versionName, metadata },
        })),
      )
    const byVersion = Map.groupBy(created, ({ versionName = version.versionName }) => versionName)
    for (const [versionName, ofVersion] of byVersion)
      for (const endpointIds of splitForEvents(ofVersion.map(({ endpointId }) => endpointId)))
        await bus.publish(sql, EndpointRegistered, { tenantId, applicationName, versionName, endpointIds })
    return outcomes
  }

const rowOf = (
  { endpointId, versionName, metadata, resourceGroupIds }: NewEndpoint,
  version: ApplicationVersionRef,
): store.NewEndpoint => ({
  endpointId,
  versionName: versionName ?? version.versionName,
  metadata,
  ...(resourceGroupIds && { resourceGroupIds }),
})
