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

/** `[a,b]` of the texts of any number of items, each of which may be several joined already. */
export async function* joined(texts: AsyncIterable<string>, begin = '[', end = ']'): AsyncGenerator<string> {
  let separator = begin
  for await (const text of texts) {
    yield separator + text
    separator = ','
  }
  yield separator === begin ? begin + end : end
}

/** `{totalElements, content}`, with as many items as come. */
export const contentOf = (total: number, texts: AsyncIterable<string>) =>
  joined(texts, `{"totalElements":${total},"content":[`, ']}')

export const contentText = (total: number, texts: string[]) =>
  `{"totalElements":${total},"content":[${texts.join(',')}]}`
