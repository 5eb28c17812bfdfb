import { notModified } from '../../../../kernel/etag.ts'
import type { Reply } from '../../../../kernel/http/routes.ts'

/** Sends an object with its ETag, or 304 if the caller already has it. */
export function sendWithEtag(
  { headers }: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  { view, etag }: { view: object; etag: string },
) {
  reply.header('etag', etag)
  return notModified(headers, etag) ? reply.code(304).send() : reply.send(view)
}
