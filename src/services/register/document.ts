/** Answers that exist as JSON text already: sent as they are. */
import { etagOf } from '../../kernel/etag.ts'

export interface Document {
  text: string
  etag: string
}

export const documentOf = (text: string): Document => ({ text, etag: etagOf(text) })

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
