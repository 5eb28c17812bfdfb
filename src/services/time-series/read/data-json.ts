/** Writes points as JSON: an array of objects, each complete within one buffer. */

import { putPoints, rowsOf } from './point-json.ts'
import type { SeriesFragment } from './series-fragments.ts'
import { createTextBuffer, put, takeText } from './text-buffer.ts'

/** The fragments of one part, with the ids of their endpoints. */
export interface IdentifiedPart {
  fragments: Iterable<SeriesFragment>
  idOf(endpointNo: number): string
}

const bufferBytes = 128 * 1024

export async function* jsonOf(parts: AsyncIterable<IdentifiedPart>, descending: boolean): AsyncGenerator<Buffer> {
  const text = createTextBuffer(bufferBytes + 1024)
  let separator = '['
  for await (const { fragments, idOf } of parts) {
    let open: number | undefined
    for (const { endpointNo, series, columns } of fragments) {
      const rows = rowsOf(columns, descending)
      for (let rowIndex = 0; rowIndex < rows.count; ) {
        if (text.length === 0) {
          put(text, `${separator}{`)
          separator = ','
        }
        if (open === endpointNo) put(text, ',')
        else put(text, `${open === undefined ? '' : '},'}${JSON.stringify(idOf(endpointNo))}:{`)
        open = endpointNo
        put(text, `${JSON.stringify(series.name)}:[`)
        rowIndex = putPoints(text, rows, rowIndex, bufferBytes)
        put(text, ']')
        if (text.length < bufferBytes) continue
        put(text, '}}')
        yield takeText(text)
        open = undefined
      }
    }
    // The next part may have more points of the same series, and an object cannot have a key twice.
    if (open === undefined) continue
    put(text, '}}')
    yield takeText(text)
  }
  yield Buffer.from(separator === '[' ? '[]' : ']')
}
