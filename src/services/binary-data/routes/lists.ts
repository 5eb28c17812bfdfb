import type { Http, Reply } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import { contentPageStream, jsonArray } from '../../../kernel/json-text.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { listOf } from '../../../kernel/schema.ts'
import { blobView, fileView, listedBlobView } from '../links.ts'
import * as schemas from '../schemas.ts'
import type { Item } from '../service/items.ts'
import type { ItemList } from '../service/lists.ts'
import type { BinaryDataService } from '../service.ts'

const read = { scope: 'endpoint:read' }

async function* textsOf<T>(values: AsyncIterable<T>, view: (value: T) => object) {
  for await (const value of values) yield JSON.stringify(view(value))
}

function sendList(reply: Reply, { total, items }: ItemList, view: (item: Item) => object) {
  if (Array.isArray(items)) return reply.send({ totalElements: total, content: items.map(view) })
  return sendText(reply, contentPageStream(total, textsOf(items, view)))
}

export function listRoutes(http: Http, { lists }: BinaryDataService, baseUrl: () => string) {
  const application = '/applications/:appName'

  for (const { path, schema, kind, view } of [
    { path: 'files', schema: schemas.listFiles, kind: 'file', view: fileView },
    { path: 'binary-data/list', schema: schemas.listBlobs, kind: 'blob', view: listedBlobView },
  ] as const)
    http.get(`${application}/${path}`, { schema, config: read }, async ({ ctx, params, query }, reply) => {
      const { endpointId, offset, limit, ...rest } = query
      const request = { ...rest, ...params, kind, endpointIds: listOf(endpointId) }
      const page = await lists.list(ctx, request, windowOf({ offset, limit }))
      return sendList(reply, page, (item) => view(baseUrl(), item))
    })

  http.get(
    `${application}/binary-data`,
    { schema: schemas.groupBlobs, config: read },
    async ({ ctx, params, query }, reply) => {
      const { endpointId, ...rest } = query
      const request = { ...rest, ...params, kind: 'blob', endpointIds: listOf(endpointId) } as const
      const groups = await lists.byEndpoint(ctx, request)
      const texts = textsOf(groups, (items) => ({
        [items[0]!.endpointId]: items.map((item) => blobView(baseUrl(), item)),
      }))
      return sendText(reply, jsonArray(texts))
    },
  )
}
