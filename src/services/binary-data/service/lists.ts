import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { Forbidden, InvalidRequest } from '../../../kernel/errors.ts'
import type { Window } from '../../../kernel/paging.ts'
import { holds, onResource, visibleResources } from '../../../kernel/permissions.ts'
import { timeOf, timeText } from '../../../kernel/times.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, type Register } from '../../register/contract.ts'
import { NoApplication } from '../errors.ts'
import * as store from '../store/items.ts'

export interface ListRequest {
  kind: store.Kind
  appName: string
  endpointIds?: string[] | undefined
  name?: string | undefined
  fromDate?: string | undefined
  toDate?: string | undefined
  sort: 'ASC' | 'DESC'
}

/** A page of items, or a stream if the page is long. */
export interface ItemList {
  total: number
  items: store.Item[] | AsyncIterable<store.Item>
}

export interface ListOperations {
  list(ctx: Ctx, request: ListRequest, window: Window): Promise<ItemList>
  /** Yields all items grouped by endpoint. Each yielded array contains items of one endpoint. */
  byEndpoint(ctx: Ctx, request: ListRequest): Promise<AsyncIterable<store.Item[]>>
}

/** Maximum number of items that are read at a time. Longer responses are streamed. */
const pageMax = 1000
const idsMax = 1000
const read = 'endpoint:read'

export function createListOperations(
  { db, now }: Kit,
  { applications, register }: { applications: Applications; register: Register },
): ListOperations {
  /** Returns the endpoints of the application that the caller may read; undefined means all. */
  async function visibleEndpoints(ctx: Ctx, appName: string): Promise<string[] | undefined> {
    if (!(await applications.exists(ctx, { name: appName }))) throw NoApplication({ appName })
    const application = onResource(ctx.tenantId, applicationResource(appName))
    if (holds(ctx.caller, read, application)) return undefined
    const granted = visibleResources(ctx.caller, read, ctx.tenantId, 'endpoint-') as string[]
    const grantedEndpoints = granted.length > 0 ? [...(await register.findAll(granted)).values()] : []
    const readable = grantedEndpoints.filter(
      ({ tenantId, applicationName }) => tenantId === ctx.tenantId && applicationName === appName,
    )
    if (readable.length > 0) return readable.map(({ endpointId }) => endpointId)
    if (holds(ctx.caller, 'application:read', application))
      throw Forbidden({ scope: read, resource: applicationResource(appName) })
    throw NoApplication({ appName })
  }

  function isoOf(field: string, text: string | undefined): string | undefined {
    if (text === undefined) return undefined
    const time = timeOf(text, now())
    if (time === undefined) throw InvalidRequest({ problem: `${field}: expected ${timeText}` })
    return new Date(time).toISOString()
  }

  async function queryOf(ctx: Ctx, request: ListRequest): Promise<store.ItemQuery> {
    const { kind, appName, name, sort } = request
    const from = isoOf('fromDate', request.fromDate)
    // Responses do not show microseconds, so the whole last millisecond is included.
    const to = isoOf('toDate', request.toDate)?.replace('Z', '999Z')
    const endpointIds = request.endpointIds?.length === 0 ? undefined : request.endpointIds
    if (endpointIds && endpointIds.length > idsMax)
      throw InvalidRequest({ problem: `endpointId: expected at most ${idsMax} ids` })
    const visibility = await visibleEndpoints(ctx, appName)
    const { tenantId } = ctx
    return {
      kind,
      tenantId,
      applicationName: appName,
      visibility,
      endpointIds,
      name,
      from,
      to,
      descending: sort === 'DESC',
    }
  }

  /** Reads page by page, so that no database connection is held while a slow client reads the response. */
  async function* streamItems(query: store.ItemQuery, first: store.ListedItem[], count: number) {
    let [page, remaining] = [first, count]
    while (page.length > 0) {
      yield* page
      remaining -= page.length
      if (remaining <= 0 || page.length < pageMax) return
      page = await store.findItemsAfter(db.sql, query, { after: page.at(-1)!, limit: Math.min(pageMax, remaining) })
    }
  }

  async function* streamByEndpoint(query: store.ItemQuery) {
    for (let after: store.ListedItem | undefined; ; ) {
      const page: store.ListedItem[] = await store.findItemsByEndpoint(db.sql, query, { after, limit: pageMax })
      yield* Map.groupBy(page, ({ endpointId }) => endpointId).values()
      after = page.at(-1)
      if (page.length < pageMax) return
    }
  }

  return {
    async list(ctx, request, { offset, limit }) {
      const query = await queryOf(ctx, request)
      const window = { offset, limit: Math.min(pageMax, limit ?? pageMax) }
      const { total, items } = await store.findItems(db.sql, query, window)
      if (items.length < pageMax || limit === pageMax) return { total, items }
      return { total, items: streamItems(query, items, limit ?? Number.POSITIVE_INFINITY) }
    },
    byEndpoint: async (ctx, request) => streamByEndpoint(await queryOf(ctx, request)),
  }
}
