/** Answers that exist as JSON text already: sent as they are, never parsed and written again. */
import { etagOf } from '../../kernel/etag.ts'

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

export interface ApplicationDocument extends Document {
  name: string
  tenantId: string
}

const chunkLength = 64 * 1024

/** Small pieces of text as larger ones, so that a long answer is not a million writes. */
export async function* inChunks(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = ''
  for await (const piece of pieces) {
    chunk += piece
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}
