/** Finds the response to a request of an endpoint. */
import type { Sql } from '../../../kernel/db.ts'
import type { StoredRecord } from '../codec/columns.ts'
import { findUnregistered } from '../store/units.ts'
import { openSearch } from './search.ts'
import { loadRecords, recordsInOrder } from './stream.ts'

export interface OutcomeQuery {
  tenantId: string
  endpointId: string
  extension: string
  requestId: number
  /** Number of latest responses of the extension that are searched. */
  outcomes: number
}

const endOfTime = Number.MAX_SAFE_INTEGER

/** Finds the latest response with this request id, if it is among the latest responses of the extension. Must run in one snapshot. */
export async function findOutcome(sql: Sql, query: OutcomeQuery, deadline: number): Promise<StoredRecord | undefined> {
  const { tenantId, endpointId, extension, requestId, outcomes } = query
  const since = ((await findUnregistered(sql, tenantId, [endpointId])).get(endpointId) ?? -1) + 1
  const responses = {
    tenantId,
    visible: 'all' as const,
    endpointIds: new Set([endpointId]),
    extension,
    outbound: true,
    span: { from: since, to: endOfTime },
  }
  const search = await openSearch(sql, { filter: { ...responses, requestId }, descending: true }, deadline)
  for await (const [found] of recordsInOrder(search, { expected: 1 })) {
    const [record] = await loadRecords(search, [found!])
    const later = { ...responses, span: { from: record!.micros + 1, to: endOfTime } }
    return (await hasResponses(sql, later, outcomes, deadline)) ? undefined : record
  }
  return undefined
}

/** Returns whether there are at least `limit` responses with a request id. */
async function hasResponses(
  sql: Sql,
  filter: Parameters<typeof openSearch>[1]['filter'],
  limit: number,
  deadline: number,
) {
  const search = await openSearch(sql, { filter, descending: true }, deadline)
  let count = 0
  for await (const portion of recordsInOrder(search, { expected: 64 })) {
    count += portion.filter(({ columns, index }) => columns.requestId[index]! >= 0).length
    if (count >= limit) return true
  }
  return false
}
