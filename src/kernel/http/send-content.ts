/** Sends a content of the blob store. Supports ranges, conditional requests and checksums as in RFC 9110 and RFC 9530. */
import { Readable } from 'node:stream'
import type { ByteRange } from '../blobs/blobs.ts'
import { defineError } from '../errors.ts'
import { checkIfMatch, notModified, notModifiedSince } from '../etag.ts'
import type { OperationSchema } from '../schema.ts'
import { contentDisposition, digestHeader, parseRange, type RangeResult } from './content-headers.ts'
import type { Reply, Request } from './routes.ts'

export const NoSuchRange = defineError<{ size: number }>(
  'no_such_range',
  416,
  'The requested range does not exist: the content has {size} bytes',
)

export const ContentChanged = defineError(
  'content_changed',
  412,
  'The content has changed: If-Match does not match its ETag; download the content again from its beginning',
)

/** A stored content: its file name, size, checksum and time. */
export interface ContentItem {
  name: string
  size: number
  /** Hexadecimal SHA-256 of the content, unless `isComposed` is true. */
  checksum: string
  updatedDate: Date
  /** True if the checksum only identifies the content and is not its digest. */
  isComposed?: boolean
}

/** Finds an item and opens its content. `choose` returns the range to read, or undefined if no content is needed. */
export type OpenContent = (
  choose: (item: ContentItem) => ByteRange | undefined,
) => Promise<{ item: ContentItem; content: Readable | undefined }>

/** These headers prevent browsers from displaying or running the content. */
const inert = {
  'content-type': 'application/octet-stream',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  // Permissions can change, so caches must revalidate; the ETag identifies the content.
  'cache-control': 'private, no-cache',
  'accept-ranges': 'bytes',
}

export async function sendContent(
  { headers, raw }: Pick<Request<OperationSchema>, 'headers' | 'raw'>,
  reply: Reply,
  open: OpenContent,
) {
  let range: RangeResult = 'whole'
  let unchanged = false
  const { item, content } = await open((found) => {
    const etag = `"${found.checksum}"`
    checkIfMatch(headers['if-match'], etag, ContentChanged)
    const { 'if-range': ifRange } = headers
    // RFC 9110, 14.2: only GET supports ranges.
    const isForRange = raw.method === 'GET' && (ifRange === undefined || ifRange === etag)
    range = isForRange ? parseRange(headers.range, found.size) : 'whole'
    unchanged = notModified(headers, etag) || notModifiedSince(headers, found.updatedDate)
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
  const part = range as RangeResult
  if (part === 'none') throw NoSuchRange({ size }, { headers: { 'content-range': `bytes */${size}` } })
  if (part !== 'whole') reply.code(206).header('content-range', `bytes ${part.first}-${part.last}/${size}`)
  reply.headers({
    ...inert,
    'content-disposition': contentDisposition(name),
    'content-length': part === 'whole' ? size : part.last - part.first + 1,
    ...(!item.isComposed && { 'repr-digest': digestHeader(checksum) }),
  })
  // HEAD sends a stream too, because otherwise Fastify would set its own content length.
  return reply.send(content ?? Readable.from([]))
}
