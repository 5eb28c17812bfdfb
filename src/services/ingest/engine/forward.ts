/** Answers searches with the search engine. A filter restricts the hits to documents that the caller may read. */
import type { Ctx } from '../../../kernel/contract.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import { EngineUnavailable } from '../errors.ts'
import { stringifyExact } from '../exact-json.ts'
import type { DateRange } from '../index-names.ts'
import type { SearchRequest } from '../query/request.ts'
import type { Scope } from '../query/scope.ts'
import { type Engine, type EngineAnswer, failureOf, reasonOf } from './client.ts'
import { bodyOf } from './dsl.ts'
import { engineName, ownArrival, ownEndpoint, ownIndex } from './names.ts'

export type Unregistered = (tenantId: string, endpointIds: string[]) => Promise<Map<string, Date>>

export function createForward(engine: Engine, unregistered: Unregistered) {
  return async (ctx: Ctx, scope: Scope, request: SearchRequest): Promise<string> => {
    const removed =
      scope.partly.length > 0 ? await unregistered(scope.tenantId, scope.endpointIds) : new Map<string, Date>()
    const body = stringifyExact(bodyOf(request, permittedFilter(scope, removed)))
    const names = [...scope.indices.values()].map((name) => `${engineName(scope.tenantId, name)}-*`)
    // If there is no index, a name that does not exist is used, because an empty list would mean all indices.
    const path = encodeURIComponent(names.length === 0 ? `${engineName(scope.tenantId, '')}-none` : names.join())
    const parameters = `ignore_unavailable=true&allow_no_indices=true${request.totalAsNumber ? '&rest_total_hits_as_int=true' : ''}`
    let answer: EngineAnswer
    try {
      answer = await engine.request('POST', `/${path}/_search?${parameters}`, body, ctx.signal)
    } catch (error) {
      ctx.signal.throwIfAborted()
      throw EngineUnavailable({ reason: failureOf(error) })
    }
    if (answer.status === 200) return answer.text
    if (answer.status === 400) throw InvalidRequest({ problem: reasonOf(answer) })
    throw EngineUnavailable({ reason: reasonOf(answer) })
  }
}

type Filter = Record<string, unknown>

/**
 * Returns a filter for the documents that the caller may read. It compares index numbers of the platform, because the pattern of one index
 * name (`a-*`) may match indices of another application (`a-b-2026.03.01`).
 */
function permittedFilter({ whole, partly, endpointIds, dates }: Scope, removed: Map<string, Date>): Filter {
  const should: Filter[] = [{ terms: { [ownIndex]: whole } }]
  if (partly.length > 0 && endpointIds.length > 0) {
    const plain = endpointIds.filter((endpointId) => !removed.has(endpointId))
    const since = [...removed].map(([endpointId, at]) => ({
      bool: { filter: [{ term: { [ownEndpoint]: endpointId } }, { range: { [ownArrival]: { gt: at.getTime() } } }] },
    }))
    const ofEndpoints = { bool: { should: [{ terms: { [ownEndpoint]: plain } }, ...since], minimum_should_match: 1 } }
    should.push({ bool: { filter: [{ terms: { [ownIndex]: partly } }, ofEndpoints] } })
  }
  const filter: Filter[] = [{ bool: { should, minimum_should_match: 1 } }]
  if (dates) filter.push(datesFilter(dates))
  return { bool: { filter } }
}

const datesFilter = ({ from, to }: DateRange): Filter => ({ range: { [ownArrival]: { gte: from, lt: to } } })
