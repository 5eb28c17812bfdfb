/**
 * Registers endpoints together with objects of other services, in the transactions of these services. The devices of a LoRaWAN network are
 * registered in this way.
 */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { needsGrant } from '../access.ts'
import type { EndpointToRegister, Register, Relation } from '../contract.ts'
import { EndpointIdTaken } from '../errors.ts'
import { type ConnectivityKeysOf, reservedKeys } from '../metadata/connectivity-keys.ts'
import { checkMetadata, type Metadata } from '../metadata/metadata.ts'
import type { RelationOperations } from '../relations/service.ts'
import { lockRelations } from '../relations/store.ts'

interface Deps {
  applications: Applications
  relations: RelationOperations
  connectivityKeys: ConnectivityKeysOf
  /** Creates endpoints. An outcome is an object if the endpoint was created. */
  createEndpoints(
    sql: Sql,
    version: ApplicationVersionRef,
    endpoints: { endpointId: string; metadata: Metadata; resourceGroupIds: string[] }[],
    creator?: Ctx,
  ): Promise<unknown[]>
}

export const relationOf = (request: EndpointToRegister['relations'][number], self: string): Relation =>
  'from' in request
    ? { type: request.type, from: request.from, to: self }
    : { type: request.type, from: self, to: request.to }

export const createRegisterAll =
  (deps: Deps): Register['registerAll'] =>
  async (sql, ctx, version, endpoints) => {
    const reserved = reservedKeys(await deps.connectivityKeys(version))
    for (const { metadata, requestPath } of endpoints)
      checkMetadata(metadata, reserved, `${requestPath}.endpointMetadata`)
    const rows = endpoints.map(({ endpointId, metadata, poolIds }) => ({
      endpointId,
      metadata,
      resourceGroupIds: poolIds,
    }))
    const outcomes = await deps.createEndpoints(sql, version, rows, needsGrant(ctx, version) ? ctx : undefined)
    if (!(await deps.applications.findVersion(version.versionName, sql)))
      throw invalidField('appVersionName', `there is no application version ${version.versionName}`)
    const taken = outcomes.findIndex((outcome) => typeof outcome !== 'object')
    if (taken !== -1) throw EndpointIdTaken({ endpointId: endpoints[taken]!.endpointId })
    await linkAll(deps, sql, ctx, version.tenantId, endpoints)
  }

async function linkAll({ relations }: Deps, sql: Sql, ctx: Ctx, tenantId: string, endpoints: EndpointToRegister[]) {
  const links = endpoints.flatMap(({ endpointId, relations: wanted, requestPath }) =>
    wanted.map((request) => ({ relation: relationOf(request, endpointId), requestPath })),
  )
  if (links.length === 0) return
  const newIds = new Set(endpoints.map(({ endpointId }) => endpointId))
  const related = new Set(links.flatMap(({ relation: { from, to } }) => [from, to]).filter((id) => !newIds.has(id)))
  await lockRelations(sql, tenantId)
  await relations.lockLinkedEndpoints(sql, ctx, tenantId, [...related])
  const { failed } = await relations.connect(
    sql,
    tenantId,
    links.map(({ relation }) => relation),
  )
  if (failed.length === 0) return
  const [{ from, to, reason }] = failed as [(typeof failed)[number]]
  const { requestPath } = links.findLast(({ relation }) => relation.from === from && relation.to === to)!
  throw invalidField(`${requestPath}.endpointRelations`, reason)
}
