/** Answers that exist as JSON text already: sent as they are. */
import { etagOf } from '../../kernel/etag.ts'

export interface Document {
  text: string
  etag: string
}

export const documentOf = (text: string): Document => ({ text, etag: etagOf(text) })

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

/** `{totalElements, content}`, with as many items as come. */
export async function* contentOf(total: number, items: AsyncIterable<string>): AsyncGenerator<string> {
  let separator = `{"totalElements":${total},"content":[`
  for await (const item of items) {
    yield separator + item
    separator = ','
  }
  yield separator === ',' ? ']}' : `${separator}]}`
}

export const contentText = (total: number, items: string[]) =>
  `{"totalElements":${total},"content":[${items.join(',')}]}`
