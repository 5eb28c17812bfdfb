/** Answers that exist as JSON text already: sent as they are, never parsed and written again. */
import { Readable } from 'node:stream'
import { etagOf, notModified } from '../etag.ts'
import { inChunks } from '../json-text.ts'
import type { Reply } from './routes.ts'

export interface Document {
  body: string | Buffer
  etag: string
}

/** Node writes a short text together with the headers, in one piece; a long one is cheaper when it is bytes already. */
const shortLength = 16 * 1024

export const documentOf = (text: string): Document => ({
  body: text.length < shortLength ? text : Buffer.from(text),
  etag: etagOf(text),
})

const json = 'application/json; charset=utf-8'

/** A long answer goes as fast as its reader takes it. */
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
