/** Writes points as JSON: an array with one object for each endpoint, in which each series occurs once. */

import { putPoints, rowsOf } from './point-json.ts'
import type { SeriesFragment } from './series-fragments.ts'
import { createTextBuffer, put, takeText } from './text-buffer.ts'

/** The fragments of one part, with the ids of their endpoints. */
export interface IdentifiedPart {
  fragments: Iterable<SeriesFragment>
  idOf(endpointNo: number): string
}

const bufferBytes = 128 * 1024

/**
 * Writes the parts as JSON. All fragments of one endpoint must be consecutive. Among these, all fragments of one series must be consecutive
 * too.
 */
export async function* jsonOf(parts: AsyncIterable<IdentifiedPart>, descending: boolean): AsyncGenerator<Buffer> {
  const text = createTextBuffer(bufferBytes + 1024)
  put(text, '[')
  let endpoint: number | undefined
  let seriesName: string | undefined
  for await (const { fragments, idOf } of parts) {
    for (const { endpointNo, series, columns } of fragments) {
      const rows = rowsOf(columns, descending)
      if (rows.count === 0) continue
      const name = `${JSON.stringify(series.name)}:[`
      if (endpoint !== endpointNo)
        put(text, `${endpoint === undefined ? '' : ']}},'}{${JSON.stringify(idOf(endpointNo))}:{${name}`)
      else put(text, seriesName === series.name ? ',' : `],${name}`)
      endpoint = endpointNo
      seriesName = series.name
      for (let rowIndex = 0; rowIndex < rows.count; ) {
        if (rowIndex > 0) put(text, ',')
        rowIndex = putPoints(text, rows, rowIndex, bufferBytes)
        if (text.length >= bufferBytes) yield takeText(text)
      }
    }
    if (text.length > 1) yield takeText(text)
  }
  put(text, endpoint === undefined ? ']' : ']}}]')
  yield takeText(text)
}
