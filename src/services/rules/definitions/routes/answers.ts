import { notModified } from '../../../../kernel/etag.ts'
import type { Reply } from '../../../../kernel/http/routes.ts'

/** Limit of bodies with scripts: a script and `uiMetadata` have up to 65,536 characters, each of up to four bytes. */
export const bodyBytesMax = 1024 * 1024

/** Sends an object with its ETag, or 304 if the caller already has it. */
export function sendWithEtag(
  { headers }: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  { view, etag }: { view: object; etag: string },
) {
  reply.header('etag', etag)
  return notModified(headers, etag) ? reply.code(304).send() : reply.send(view)
}
