import { Readable } from 'node:stream'
import { notModified } from '../../../kernel/etag.ts'
import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import type { OperationSchema } from '../../../kernel/schema.ts'
import { NoSuchRange } from '../errors.ts'
import { attachment, digestHeader, type RangeAnswer, rangeOf } from '../headers.ts'
import { blobView } from '../links.ts'
import * as schemas from '../schemas.ts'
import type { ItemRules, Place } from '../service/items.ts'
import type { BinaryDataService } from '../service.ts'

const read = { scope: 'endpoint:read' }
const update = { scope: 'endpoint:update' }

type Asked = Pick<Request<OperationSchema>, 'ctx' | 'headers' | 'raw'>

/** Prevents browsers from displaying or running the content. */
const inert = {
  'content-type': 'application/octet-stream',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  // Permissions can change, so caches must revalidate; the ETag identifies the content.
  'cache-control': 'private, no-cache',
  'accept-ranges': 'bytes',
}

async function download(items: ItemRules, { ctx, headers, raw }: Asked, reply: Reply, place: Place) {
  let range: RangeAnswer = 'whole'
  let unchanged = false
  const { item, content } = await items.open(ctx, place, (found) => {
    const etag = `"${found.checksum}"`
    const { 'if-range': ifRange } = headers
    // RFC 9110, 14.2: only GET has ranges.
    const isForRange = raw.method === 'GET' && (ifRange === undefined || ifRange === etag)
    range = isForRange ? rangeOf(headers.range, found.size) : 'whole'
    unchanged = notModified(headers, etag)
    if (unchanged || raw.method === 'HEAD' || range === 'none' || found.size === 0) return undefined
    return range === 'whole' ? { first: 0, last: found.size - 1 } : range
  })
  const { checksum, size, name, updatedDate } = item
  reply.headers({
    etag: `"${checksum}"`,
    'last-modified': updatedDate.toUTCString(),
    'cache-control': inert['cache-control'],
  })
  if (unchanged) return reply.code(304).send()
  const part = range as RangeAnswer
  if (part === 'none') throw NoSuchRange({ size }, { headers: { 'content-range': `bytes */${size}` } })
  if (part !== 'whole') reply.code(206).header('content-range', `bytes ${part.first}-${part.last}/${size}`)
  reply.headers({
    ...inert,
    'content-disposition': attachment(name),
    'content-length': part === 'whole' ? size : part.last - part.first + 1,
    'repr-digest': digestHeader(checksum),
  })
  // HEAD sends a stream too, because Fastify would otherwise set its own content length.
  return reply.send(content ?? Readable.from([]))
}

export function downloadRoutes(http: Http, { items }: BinaryDataService, baseUrl: () => string) {
  const endpoint = '/applications/:appName/endpoints/:endpointId'
  const file = `${endpoint}/files/:filename`
  const blob = `${endpoint}/binary-data/:blobId`

  http.get(file, { schema: schemas.readFile, config: read }, (request, reply) =>
    download(items, request, reply, request.params),
  )
  http.delete(file, { schema: schemas.deleteFile, config: update }, async ({ ctx, params }, reply) => {
    await items.delete(ctx, params)
    return reply.code(204).send()
  })

  http.get(blob, { schema: schemas.readBlob, config: read }, async ({ ctx, params }) =>
    blobView(baseUrl(), await items.find(ctx, params)),
  )
  http.get(`${blob}/data`, { schema: schemas.readBlobContent, config: read }, (request, reply) =>
    download(items, request, reply, request.params),
  )
  http.get(`${endpoint}/binary-data/data/last`, { schema: schemas.readLastBlob, config: read }, (request, reply) =>
    download(items, request, reply, { ...request.params, last: true }),
  )
  http.delete(blob, { schema: schemas.deleteBlob, config: update }, async ({ ctx, params }, reply) => {
    await items.delete(ctx, params)
    return reply.code(204).send()
  })
}
