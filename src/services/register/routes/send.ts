import { Readable } from 'node:stream'
import { notModified } from '../../../kernel/etag.ts'
import type { Reply } from '../../../kernel/http/routes.ts'
import { inChunks } from '../../../kernel/json-text.ts'
import type { Document } from '../document.ts'

const json = 'application/json; charset=utf-8'

/** JSON text, as it is; a long answer as fast as its reader takes it. */
export const sendText = (reply: Reply, answer: string | AsyncIterable<string>) =>
  reply.type(json).send(typeof answer === 'string' ? answer : Readable.from(inChunks(answer)))

export function sendDocument(
  { headers }: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  answer: Document | AsyncIterable<string>,
) {
  if (!('etag' in answer)) return sendText(reply, answer)
  reply.header('etag', answer.etag)
  return notModified(headers, answer.etag) ? reply.code(304).send() : sendText(reply, answer.text)
}
