import { invalidField } from '../../kernel/errors.ts'
import { notModified } from '../../kernel/etag.ts'
import { parseJson } from '../../kernel/http/body.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { contentPageStream } from '../../kernel/json-text.ts'
import { windowOfPage } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import { relationRoutes } from './routes/relations.ts'
import * as schemas from './schemas.ts'
import { type AssetFilter, type AssetOperations, etagOfAsset } from './service/assets.ts'
import { type AssetTypeOperations, etagOfType } from './service/types.ts'
import type { AssetsService } from './service.ts'

const v1 = '/api/v1'
/** Maximum size of a body. It is large, because a body contains JSON as text, with every quote escaped. */
const bodyBytesMax = 1024 * 1024

export function routes(http: Http, service: AssetsService) {
  typeRoutes(http, service.types)
  assetRoutes(http, service.assets)
  relationRoutes(http, service.relations)
}

type AssetType = Awaited<ReturnType<AssetTypeOperations['get']>>

const typeView = ({
  assetTypeId,
  description,
  uiJsonSchema,
  poolIds,
  createdDate,
  updatedDate,
  ...row
}: AssetType) => ({
  id: assetTypeId,
  type: row.type,
  displayName: row.displayName,
  ...(description !== null && { description }),
  definitionJsonSchema: row.definitionJsonSchema,
  ...(uiJsonSchema !== null && { uiJsonSchema }),
  tenantId: row.tenantId,
  ...(poolIds !== null && { poolIds }),
  createdAt: createdDate,
  updatedAt: updatedDate,
})

async function* texts<T>(items: AsyncIterable<T>, view: (item: T) => unknown) {
  for await (const item of items) yield JSON.stringify(view(item))
}

const orderOf = ({ sort, sortOrder }: { sort?: string | undefined; sortOrder?: string | undefined }) => ({
  by: sort === 'updatedAt' ? ('updatedAt' as const) : ('createdAt' as const),
  descending: sortOrder !== 'asc',
})

function typeRoutes(http: Http, types: AssetTypeOperations) {
  const typesPath = `${v1}/asset-types`
  const typePath = `${typesPath}/:assetTypeId`

  http.post(
    typesPath,
    { schema: schemas.createType, config: { scope: 'tenant:asset-type:create', on: 'tenant', bodyBytesMax } },
    async (request, reply) => {
      const created = await types.create(request.ctx, request.body)
      reply.code(201).header('location', http.link(request, `${typesPath}/${created.assetTypeId}`))
      return reply.header('etag', etagOfType(created)).send(typeView(created))
    },
  )

  http.get(
    typesPath,
    { schema: schemas.listTypes, config: { scope: 'asset-type:read' } },
    async ({ ctx, query }, reply) => {
      const { total, items } = await types.list(ctx, query, orderOf(query), windowOfPage(query))
      return sendText(reply, contentPageStream(total, texts(items, typeView)))
    },
  )

  http.get(
    typePath,
    { schema: schemas.getType, config: { scope: 'asset-type:read' } },
    async ({ ctx, params, headers }, reply) => {
      const found = await types.get(ctx, params.assetTypeId)
      const etag = etagOfType(found)
      reply.header('etag', etag)
      return notModified(headers, etag) ? reply.code(304).send() : reply.send(typeView(found))
    },
  )

  http.put(
    typePath,
    { schema: schemas.updateType, config: { scope: 'asset-type:update', bodyBytesMax } },
    async ({ ctx, params, body, headers }, reply) => {
      const etag = await types.update(ctx, params.assetTypeId, body, headers['if-match'])
      return reply.code(204).header('etag', etag).send()
    },
  )

  http.delete(
    typePath,
    { schema: schemas.deleteType, config: { scope: 'asset-type:delete' } },
    async ({ ctx, params, headers }, reply) => {
      await types.delete(ctx, params.assetTypeId, headers['if-match'])
      return reply.code(204).send()
    },
  )
}

type Asset = Awaited<ReturnType<AssetOperations['get']>>

const assetView = ({ assetId, assetTypeId, definition, uiJsonSchema, tenantId, poolIds, ...row }: Asset) => ({
  id: assetId,
  assetTypeId,
  definition,
  ...(uiJsonSchema !== null && { uiJsonSchema }),
  tenantId,
  ...(poolIds !== null && { poolIds }),
  createdAt: row.createdDate,
  updatedAt: row.updatedDate,
})

/** Replaces the definition with its text and a function that parses it. The function throws if the text is invalid. */
const withDefinition = <B extends { definition: string }>({ definition: text, ...body }: B) => ({
  ...body,
  definition: {
    text,
    parse() {
      if (text.trim() === '') throw invalidField('definition', 'expected JSON as text')
      return parseJson(Buffer.from(text), { plainData: true, part: 'definition' })
    },
  },
})

interface ListRequest extends AssetFilter {
  page?: number | undefined
  size?: number | undefined
  sort?: string | undefined
  sortOrder?: string | undefined
}

function assetRoutes(http: Http, assets: AssetOperations) {
  const assetsPath = `${v1}/assets`
  const assetPath = `${assetsPath}/:assetId`
  const read = { scope: 'asset:read' }
  const list = async (ctx: Parameters<AssetOperations['list']>[0], request: ListRequest) => {
    const { assetIds, assetTypeIds, search, page = 0, size = 100 } = request
    const filter = { assetIds, assetTypeIds, search }
    const { total, items } = await assets.list(ctx, filter, orderOf(request), windowOfPage({ page, size }))
    return contentPageStream(total, texts(items, assetView))
  }

  http.post(
    assetsPath,
    { schema: schemas.createAsset, config: { scope: 'asset-type:asset:create', bodyBytesMax } },
    async (request, reply) => {
      const { assetTypeId, ...input } = withDefinition(request.body)
      const created = await assets.create(request.ctx, { assetTypeId, tenantId: request.query.tenantId }, input)
      reply.code(201).header('location', http.link(request, `${assetsPath}/${created.assetId}`))
      return reply.header('etag', etagOfAsset(created)).send(assetView(created))
    },
  )

  http.get(assetsPath, { schema: schemas.listAssets, config: read }, async ({ ctx, query }, reply) => {
    const lists = { assetIds: listOf(query.assetIds), assetTypeIds: listOf(query.assetTypeIds) }
    return sendText(reply, await list(ctx, { ...query, ...lists }))
  })

  http.post(
    `${assetsPath}/list`,
    { schema: schemas.searchAssets, config: { ...read, bodyOptional: true, bodyBytesMax } },
    async ({ ctx, body }, reply) => sendText(reply, await list(ctx, body)),
  )

  http.get(assetPath, { schema: schemas.getAsset, config: read }, async ({ ctx, params, headers }, reply) => {
    const found = await assets.get(ctx, params.assetId)
    const etag = etagOfAsset(found)
    reply.header('etag', etag)
    return notModified(headers, etag) ? reply.code(304).send() : reply.send(assetView(found))
  })

  http.put(
    assetPath,
    { schema: schemas.updateAsset, config: { scope: 'asset:update', bodyBytesMax } },
    async ({ ctx, params, body, headers }, reply) => {
      const etag = await assets.update(ctx, params.assetId, withDefinition(body), headers['if-match'])
      return reply.code(204).header('etag', etag).send()
    },
  )

  http.patch(
    assetPath,
    { schema: schemas.patchAsset, config: { scope: 'asset:update', anyJson: 'inside' } },
    async ({ ctx, params, body, headers }, reply) => {
      const operations = Array.isArray(body) ? body : body.operations
      const etag = await assets.patch(ctx, params.assetId, operations, headers['if-match'])
      return reply.code(204).header('etag', etag).send()
    },
  )

  http.delete(
    assetPath,
    { schema: schemas.deleteAsset, config: { scope: 'asset:delete' } },
    async ({ ctx, params, headers }, reply) => {
      await assets.delete(ctx, params.assetId, headers['if-match'])
      return reply.code(204).send()
    },
  )
}
