import { Readable } from 'node:stream'
import type { Http, Reply } from '../../../kernel/http/routes.ts'
import { inChunks } from '../../../kernel/json-text.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { listOf } from '../../../kernel/schema.ts'
import { blobView, fileView, listedBlobView } from '../links.ts'
import * as schemas from '../schemas.ts'
import type { Item } from '../service/items.ts'
import type { Listed } from '../service/lists.ts'
import type { BinaryDataService } from '../service.ts'

const read = { scope: 'endpoint:read' }

/** Text by text, as fast as the reader takes it. */
async function* array(values: AsyncIterable<object>, begin: string, end: string) {
  let separator = begin
  for await (const value of values) {
    yield separator + JSON.stringify(value)
    separator = ','
  }
  yield separator === begin ? begin + end : end
}

const sendLong = (reply: Reply, pieces: AsyncIterable<string>) =>
  reply.type('application/json; charset=utf-8').send(Readable.from(inChunks(pieces)))

async function* mapped<A, B>(values: AsyncIterable<A>, to: (value: A) => B) {
  for await (const value of values) yield to(value)
}

function sendList(reply: Reply, { total, items }: Listed, view: (item: Item) => object) {
  if (Array.isArray(items)) return reply.send({ totalElements: total, content: items.map(view) })
  return sendLong(reply, array(mapped(items, view), `{"totalElements":${total},"content":[`, ']}'))
}

export function listRoutes(http: Http, { lists }: BinaryDataService, baseUrl: () => string) {
  const application = '/applications/:appName'

  for (const { path, schema, kind, view } of [
    { path: 'files', schema: schemas.listFiles, kind: 'file', view: fileView },
    { path: 'binary-data/list', schema: schemas.listBlobs, kind: 'blob', view: listedBlobView },
  ] as const)
    http.get(`${application}/${path}`, { schema, config: read }, async ({ ctx, params, query }, reply) => {
      const { endpointId, offset, limit, ...rest } = query
      const wanted = { ...rest, ...params, kind, endpointIds: listOf(endpointId) }
      const found = await lists.list(ctx, wanted, windowOf({ offset, limit }))
      return sendList(reply, found, (item) => view(baseUrl(), item))
    })

  http.get(
    `${application}/binary-data`,
    { schema: schemas.groupBlobs, config: read },
    async ({ ctx, params, query }, reply) => {
      const { endpointId, ...rest } = query
      const wanted = { ...rest, ...params, kind: 'blob', endpointIds: listOf(endpointId) } as const
      const groups = await lists.byEndpoint(ctx, wanted)
      const objects = mapped(groups, (items) => ({
        [items[0]!.endpointId]: items.map((item) => blobView(baseUrl(), item)),
      }))
      return sendLong(reply, array(objects, '[', ']'))
    },
  )
}
