/** Sends JSON texts without parsing and serializing them. */
import { Readable } from 'node:stream'
import type { Document } from '../document.ts'
import { notModified } from '../etag.ts'
import { contentPageStream, inChunks } from '../json-text.ts'
import type { Reply } from './routes.ts'
import { slicesOf } from './streaming.ts'

const json = 'application/json; charset=utf-8'

/** Sends JSON text. An iterable is read only as fast as the client reads. */
export const sendText = (reply: Reply, text: string | Buffer | AsyncIterable<string>) =>
  reply.type(json).send(typeof text === 'string' || Buffer.isBuffer(text) ? text : Readable.from(inChunks(text)))

/** Sends a document with its ETag, or 304 if the caller already has it. Content without an ETag is sent as it is. */
export function sendDocument(
  { headers }: { headers: { 'if-none-match'?: string | undefined } },
  reply: Reply,
  content: Document | AsyncIterable<string>,
) {
  if (!('etag' in content)) return sendText(reply, content)
  reply.header('etag', content.etag)
  return notModified(headers, content.etag) ? reply.code(304).send() : sendText(reply, content.body)
}

/**
 * Sends bytes that many responses share. A client that does not read them holds only a slice in memory, and is disconnected after a minute.
 * A response that is sent as a whole would be copied for each client.
 */
export const sendSlices = (reply: Reply, bytes: Buffer) =>
  reply.header('content-length', bytes.length).send(Readable.from(slicesOf(bytes), { objectMode: false }))

/** Sends the page `{totalElements, content}`. Its items are read only as fast as the client reads. */
export const sendList = (
  reply: Reply,
  { totalElements, items }: { totalElements: number; items: AsyncIterable<object> },
) => sendText(reply, contentPageStream(totalElements, textsOf(items)))

async function* textsOf(items: AsyncIterable<object>) {
  for await (const item of items) yield JSON.stringify(item)
}
