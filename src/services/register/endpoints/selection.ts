/** Pages through the endpoints that a filter or a list of ids selects, with the permissions of a caller. */
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { invalidField, PlatformError } from '../../../kernel/errors.ts'
import { read } from '../access.ts'
import { type EndpointRef, endpointResource, type Register, type SelectionPage } from '../contract.ts'
import { NoEndpoint } from '../errors.ts'
import { findMemberSet } from '../filters/store/filters.ts'
import { findMembersOfSet } from '../filters/store/members.ts'
import { findRefs } from './store/endpoints.ts'

interface PageRequest {
  from: string | undefined
  limit: number
}

export const selectionPage: Register['selectionPage'] = async (sql, ctx, selection, { scope, from, limit }) => {
  const { endpoints, missing, next } =
    'filterId' in selection
      ? await pageOfFilter(sql, ctx.tenantId, selection.filterId, { from, limit })
      : await pageOfList(sql, selection.endpointIds, { from, limit })
  const page: SelectionPage = { endpoints: [], rejected: [], next }
  for (const endpointId of missing) page.rejected.push({ endpointId, error: NoEndpoint({ endpointId }) })
  for (const endpoint of endpoints) {
    const error = permissionErrorOf(ctx, endpoint, scope)
    if (error) page.rejected.push({ endpointId: endpoint.endpointId, error })
    else page.endpoints.push(endpoint)
  }
  return page
}

function permissionErrorOf(ctx: Ctx, endpoint: EndpointRef, scope: string): PlatformError | undefined {
  const { endpointId } = endpoint
  try {
    authorizeOrNotFound(ctx, { read, scope }, endpointResource(endpoint), () => NoEndpoint({ endpointId }))
    return undefined
  } catch (error) {
    if (error instanceof PlatformError) return error
    throw error
  }
}

async function pageOfList(sql: Sql, endpointIds: string[], { from = '0', limit }: PageRequest) {
  const start = Number(from)
  const requestedIds = endpointIds.slice(start, start + limit)
  const endpointById = new Map((await findRefs(sql, requestedIds)).map((endpoint) => [endpoint.endpointId, endpoint]))
  return {
    endpoints: requestedIds.flatMap((endpointId) => endpointById.get(endpointId) ?? []),
    missing: requestedIds.filter((endpointId) => !endpointById.has(endpointId)),
    next: start + limit < endpointIds.length ? String(start + limit) : undefined,
  }
}

/**
 * Returns a page of a filter's members. `from` contains the number of the member set and the number of the last endpoint on the page
 * before. If the query of a filter changes, the filter gets another member set.
 */
async function pageOfFilter(sql: Sql, tenantId: string, filterId: string, { from, limit }: PageRequest) {
  const [setOfFirstPage, after = 0] = from?.split(' ').map(Number) ?? []
  const memberSet = setOfFirstPage ?? (await requireActiveSet(sql, tenantId, filterId))
  const rows = await findMembersOfSet(sql, { tenantId, memberSet, after, limit })
  // The filter is read after the page. If the filter still has the same member set, the page is complete.
  if ((await requireActiveSet(sql, tenantId, filterId)) !== memberSet)
    throw invalidField('filterId', `filter ${filterId} was changed while its endpoints were read`)
  const next = rows.length < limit ? undefined : `${memberSet} ${rows.at(-1)!.seq}`
  return { endpoints: rows.map(({ seq: _, ...endpoint }) => endpoint), missing: [], next }
}

export async function requireActiveSet(sql: Sql, tenantId: string, filterId: string): Promise<number> {
  const filter = await findMemberSet(sql, tenantId, filterId)
  if (!filter) throw invalidField('filterId', `there is no filter ${filterId}`)
  if (filter.status !== 'active')
    throw invalidField('filterId', `filter ${filterId} is still being matched; try again when its status is active`)
  return filter.memberSet
}
