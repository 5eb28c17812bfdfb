import { Readable } from 'node:stream'
import type { Document } from '../document.ts'
import { notModified } from '../etag.ts'
import { inChunks } from '../json-text.ts'
import type { Reply } from './routes.ts'

const json = 'application/json; charset=utf-8'

/** Sends JSON text; a long response is sent only as fast as its reader takes it. */
export const sendText = (reply: Reply, answer: string | Buffer | AsyncIterable<string>) =>
  reply
    .type(json)
    .send(typeof answer === 'string' || Buffer.isBuffer(answer) ? answer : Readable.from(inChunks(answer)))

export function sendDocument(
  { headers }: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  answer: Document | AsyncIterable<string>,
) {
  if (!('etag' in answer)) return sendText(reply, answer)
  reply.header('etag', answer.etag)
  return notModified(headers, answer.etag) ? reply.code(304).send() : sendText(reply, answer.body)
}
