import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendDocument } from '../../../kernel/http/send.ts'
import { listOf, narrowingListOf, type Static } from '../../../kernel/schema.ts'
import { conditionsOf, readMetadataFilter, readMultiFilter, readSort, searchKey, sqlPattern } from '../lists/query.ts'
import type { ListRequest } from '../lists/service.ts'
import { checkKey } from '../metadata/metadata.ts'
import type { RegisterService } from '../service.ts'
import type { RelationRequest } from './registration.ts'
import * as schemas from './schemas.ts'

const read = { scope: 'endpoint:read' }
const update = { scope: 'endpoint:update' }
const remove = { scope: 'endpoint:delete' }
/** Metadata is arbitrary JSON of users. The values in searches are too. */
const anyJson = 'inside' as const
const search = { ...read, anyJson, bodyBytesMax: 256 * 1024 }
const create = { scope: 'application:endpoint:create', anyJson }
const register = { scope: ['application:endpoint:create', 'endpoint:update'], anyJson, bodyBytesMax: 512 * 1024 }

export function endpointRoutes(http: Http, { endpoints, lists, registration }: RegisterService) {
  http.post('/endpoints', { schema: schemas.registerEndpoint, config: register }, async (request, reply) => {
    const { appVersion, relations, ...fields } = request.body
    const registered = await registration.register(request.ctx, {
      endpointId: fields.endpointId,
      endpointToken: fields.endpointToken,
      metadata: fields.metadata,
      resourceGroupIds: fields.resourceGroupIds,
      appVersionName: appVersion.name,
      relations: relations?.map(relationOf),
    })
    return reply
      .code(201)
      .header('location', http.link(request, `/endpoints/${registered.endpointId}`))
      .send(registered)
  })

  http.get('/endpoints', { schema: schemas.listEndpoints, config: read }, async (request, reply) =>
    sendDocument(request, reply, await lists.list(request.ctx, listRequestOfQuery(request.query))),
  )

  http.post('/endpoints/search', { schema: schemas.searchEndpoints, config: search }, async ({ ctx, body }, reply) =>
    sendDocument({ headers: {} }, reply, await lists.list(ctx, listRequestOfBody(body))),
  )

  http.post('/endpoints/delete', { schema: schemas.deleteEndpoints, config: remove }, async ({ ctx, body }, reply) => {
    const { deleted, failed } = await endpoints.deleteMany(ctx, body.endpointIds)
    return reply.send({ deletedCount: deleted.length, failedCount: failed.length, deleted, failed })
  })

  http.get('/endpoints/:endpointId', { schema: schemas.readEndpoint, config: read }, async (request, reply) => {
    const { include, tenantId } = request.query
    const selection = { ...inclusionOf(include), tenantId, ...request.params }
    return sendDocument(request, reply, await endpoints.read(request.ctx, selection))
  })

  http.delete(
    '/endpoints/:endpointId',
    { schema: schemas.deleteEndpoint, config: remove },
    async ({ ctx, params }, reply) => {
      await endpoints.delete(ctx, params.endpointId)
      return reply.code(204).send()
    },
  )

  http.get(
    '/endpoints/:endpointId/app-version',
    { schema: schemas.readVersion, config: read },
    async ({ ctx, params }, reply) => reply.send(await endpoints.version(ctx, params.endpointId)),
  )

  http.put(
    '/endpoints/:endpointId/app-version',
    { schema: schemas.updateVersion, config: update },
    async ({ ctx, params, body }, reply) => {
      await endpoints.setVersion(ctx, params.endpointId, body.name)
      return reply.code(204).send()
    },
  )
}

export function batchRoutes(http: Http, { batches }: RegisterService) {
  http.post('/endpoints/batch', { schema: schemas.startBatch, config: create }, async ({ ctx, body }, reply) => {
    const { appVersion, endpoints } = body
    const taskId = await batches.start(ctx, { appVersionName: appVersion.name, endpoints })
    return reply.code(202).send({ taskId })
  })

  http.get('/endpoints/batch/status', { schema: schemas.readBatch, config: create }, async ({ ctx, query }, reply) =>
    reply.send(await batches.status(ctx, query)),
  )
}

function relationOf({ type, from, to }: { type: 'contains'; from?: string; to?: string }): RelationRequest {
  if (from !== undefined && to === undefined) return { type, from }
  if (to !== undefined && from === undefined) return { type, to }
  throw invalidField('relations', 'expected exactly one of from and to in each relation')
}

interface Inclusion {
  metadata: boolean
  filters: boolean
}

function inclusionOf(include: string | string[] | undefined): Inclusion {
  const fields = listOf(include) ?? []
  const unknown = fields.find((field) => field !== 'metadata' && field !== 'filters')
  if (unknown !== undefined) throw invalidField('include', 'expected metadata, filters, or both')
  return { metadata: fields.includes('metadata'), filters: fields.includes('filters') }
}

/** Returns the parts to include. Metadata is also included if only `metadataKeys` is given. */
function viewOf({ metadata, filters }: Inclusion, keys: string[] | undefined): ListRequest['view'] {
  for (const key of keys ?? []) checkKey(key, 'metadataKeys')
  return { metadata: keys && keys.length > 0 ? keys : metadata ? 'all' : 'none', filters }
}

const regexOf = (regex: string | undefined) =>
  regex === undefined || regex === '' ? undefined : sqlPattern(regex, 'regex')

function listRequestOfQuery(query: Static<typeof schemas.listEndpoints.query>): ListRequest {
  const multi = query.multiFilter ? readMultiFilter(query.multiFilter) : { conditions: [], sort: undefined }
  return {
    tenantId: query.tenantId,
    applicationNames: narrowingListOf(query.applicationName),
    versionNames: narrowingListOf(query.applicationVersionName),
    endpointIds: narrowingListOf(query.endpointId),
    filterIds: narrowingListOf(query.filterId),
    conditions: [...(query.metadataFilter ? readMetadataFilter(query.metadataFilter) : []), ...multi.conditions],
    regex: regexOf(query.regex),
    sort: multi.sort,
    fields: { conditions: 'multiFilter', sort: 'multiFilter', filters: 'filterId' },
    view: viewOf(inclusionOf(query.include), listOf(query.metadataKeys)),
    offset: query.offset,
    limit: query.limit,
    cursor: query.cursor,
  }
}

function listRequestOfBody(body: Static<typeof schemas.searchEndpoints.body>): ListRequest {
  return {
    applicationNames: listOf(body.applicationName),
    versionNames: listOf(body.applicationVersionName),
    endpointIds: body.endpointIds,
    // An empty list of filters does not restrict the search.
    filterIds: body.filterIds?.length === 0 ? undefined : body.filterIds,
    conditions: conditionsOf(body, 'and', searchKey),
    regex: regexOf(body.regex),
    sort: readSort(body, 'sort', searchKey),
    fields: { conditions: body.and ? 'and' : 'or', sort: 'sort', filters: 'filterIds' },
    view: viewOf(inclusionOf(body.include), body.metadataKeys),
    offset: body.offset ?? 0,
    limit: body.limit ?? 100,
    cursor: body.cursor,
  }
}
