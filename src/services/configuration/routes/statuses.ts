import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import { jsonArray } from '../../../kernel/json-text.ts'
import { windowOfPage } from '../../../kernel/paging.ts'
import { listOf } from '../../../kernel/schema.ts'
import { listStatuses } from '../schemas.ts'
import type { StatusOperations, StatusRecord } from '../service/statuses.ts'

const endpointsMax = 1000

const view = (row: StatusRecord) => ({
  configId: row.configId,
  endpointId: row.endpointId,
  appVersionName: row.versionName,
  name: row.name,
  status: row.status,
  ...(row.config !== undefined && { config: row.config }),
  ...(row.dispatchedDate !== null && { lastDispatchedDate: row.dispatchedDate }),
  ...(row.confirmedDate !== null && { lastConfirmedDate: row.confirmedDate }),
  ...(row.statusCode !== null && { confirmationStatusCode: row.statusCode }),
  ...(row.reasonPhrase !== null && { confirmationReasonPhrase: row.reasonPhrase }),
})

async function* texts(records: AsyncIterable<StatusRecord>) {
  for await (const record of records) yield JSON.stringify(view(record))
}

const sort = { sorted: true, unsorted: false, empty: false }

/** Returns the fields of a page in Spring's format, which existing clients expect. */
function pageOf({ page, size }: { page: number; size: number }, total: number, count: number) {
  const totalPages = Math.ceil(total / size)
  return {
    pageable: { offset: page * size, pageNumber: page, pageSize: size, paged: true, unpaged: false, sort },
    totalElements: total,
    totalPages,
    last: page + 1 >= totalPages,
    first: page === 0,
    sort,
    numberOfElements: count,
    size,
    number: page,
    empty: count === 0,
  }
}

export function statusRoutes(http: Http, statuses: StatusOperations) {
  http.get('/statuses', { schema: listStatuses, config: { scope: 'endpoint:read' } }, async ({ ctx, query }, reply) => {
    const endpointIds = listOf(query.endpointId)
    if (endpointIds && endpointIds.length > endpointsMax)
      throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
    const { appVersionName: versionName, configId, name, status } = query
    const search = { versionName, configId, name, status, endpointIds: endpointIds?.length ? endpointIds : undefined }
    const { total, count, records } = await statuses.list(ctx, search, windowOfPage(query))
    const rest = JSON.stringify(pageOf(query, total, count)).slice(1)
    return sendText(reply, jsonArray(texts(records), '{"content":[', `],${rest}`))
  })
}
