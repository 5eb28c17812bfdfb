/** Joins JSON texts that the database has made to arrays and pages, without parsing them. */

const chunkLength = 64 * 1024

/** Joins small texts to chunks of 64 KiB, so that a long response needs few writes. */
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

/** Yields `[a,b]` from the texts of items; a text may contain several items, already joined by commas. */
export async function* jsonArray(texts: AsyncIterable<string>, begin = '[', end = ']'): AsyncGenerator<string> {
  let separator = begin
  for await (const text of texts) {
    yield separator + text
    separator = ','
  }
  yield separator === begin ? begin + end : end
}

/** Yields `{totalElements, content}` with any number of items. */
export const contentPageStream = (total: number, texts: AsyncIterable<string>) =>
  jsonArray(texts, `{"totalElements":${total},"content":[`, ']}')

/** Returns the text of `{totalElements, content}`. */
export const contentPageText = (total: number, texts: string[]) =>
  `{"totalElements":${total},"content":[${texts.join(',')}]}`
