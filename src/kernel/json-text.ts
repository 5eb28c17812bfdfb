/** Joins JSON texts from the database into arrays and pages, without parsing them. */

const chunkLength = 64 * 1024

/** Joins small texts into chunks of 64 KiB, so that a long response needs few writes. */
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

/**
 * Yields `[a,b]` from the texts of items. A text may contain several items that are already joined by commas. If `end` is a function, it is
 * called after the last item.
 */
export async function* jsonArray(
  texts: AsyncIterable<string>,
  begin = '[',
  end: string | (() => string) = ']',
): AsyncGenerator<string> {
  let separator = begin
  for await (const text of texts) {
    yield separator + text
    separator = ','
  }
  const last = typeof end === 'string' ? end : end()
  yield separator === begin ? begin + last : last
}

/** Yields `{totalElements, content}` with any number of items. `nextCursor` is called after the last item. */
export const contentPageStream = (
  total: number,
  texts: AsyncIterable<string>,
  nextCursor: () => string | undefined = () => undefined,
) => jsonArray(texts, `{"totalElements":${total},"content":[`, () => endOf(nextCursor()))

/** Returns the text of `{totalElements, content, nextCursor}`. */
export const contentPageText = (total: number, texts: string[], nextCursor?: string) =>
  `{"totalElements":${total},"content":[${texts.join(',')}${endOf(nextCursor)}`

const endOf = (nextCursor: string | undefined) =>
  nextCursor === undefined ? ']}' : `],"nextCursor":${JSON.stringify(nextCursor)}}`
