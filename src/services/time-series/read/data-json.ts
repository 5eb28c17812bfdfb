/** Points as the historical answer has them: an array of objects, each whole in one piece of the text. */
import type { Piece } from './pieces.ts'
import { putPoints, rowsOf } from './point-json.ts'
import { createTextBuffer, put, take } from './text-buffer.ts'

/** What was read together. */
export interface IdentifiedPart {
  pieces: Iterable<Piece>
  idOf(endpointNo: number): string
}

const bytesAtOnce = 128 * 1024

export async function* jsonOf(parts: AsyncIterable<IdentifiedPart>, descending: boolean): AsyncGenerator<Buffer> {
  const text = createTextBuffer(bytesAtOnce + 1024)
  let separator = '['
  for await (const { pieces, idOf } of parts) {
    let open: number | undefined
    for (const { endpointNo, series, columns } of pieces) {
      const rows = rowsOf(columns, descending)
      for (let at = 0; at < rows.count; ) {
        if (text.length === 0) {
          put(text, `${separator}{`)
          separator = ','
        }
        if (open === endpointNo) put(text, ',')
        else put(text, `${open === undefined ? '' : '},'}${JSON.stringify(idOf(endpointNo))}:{`)
        open = endpointNo
        put(text, `${JSON.stringify(series.name)}:[`)
        at = putPoints(text, rows, at, bytesAtOnce)
        put(text, ']')
        if (text.length < bytesAtOnce) continue
        put(text, '}}')
        yield take(text)
        open = undefined
      }
    }
    // The next part may hold more of the same series, which one object cannot.
    if (open === undefined) continue
    put(text, '}}')
    yield take(text)
  }
  yield Buffer.from(separator === '[' ? '[]' : ']')
}
