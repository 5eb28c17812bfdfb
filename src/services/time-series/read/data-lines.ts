/** Writes points as lines of JSON: `{"endpointId":…,"series":…,"timestamp":…,"values":{…}}`. */
import type { IdentifiedPart } from './data-json.ts'
import { putPoints, rowsOf } from './point-json.ts'
import { createTextBuffer, put, takeText } from './text-buffer.ts'

const bufferBytes = 128 * 1024
const comma = 0x2c

export async function* linesOf(
  parts: AsyncIterable<IdentifiedPart>,
  counted: (rows: number) => void,
): AsyncGenerator<Buffer> {
  const text = createTextBuffer(bufferBytes + 4096)
  for await (const { fragments, idOf } of parts)
    for (const { endpointNo, series, columns } of fragments) {
      const rows = rowsOf(columns)
      counted(rows.count)
      const before = `{"endpointId":${JSON.stringify(idOf(endpointNo))},"series":${JSON.stringify(series.name)}`
      for (let index = 0; index < rows.count; ) {
        put(text, before)
        const start = text.length
        // `putPoints` writes one point. Then a comma replaces the opening brace of the point.
        index = putPoints(text, rows, index, start + 1)
        text.bytes[start] = comma
        put(text, '\n')
        if (text.length >= bufferBytes) yield takeText(text)
      }
    }
  if (text.length > 0) yield takeText(text)
}
