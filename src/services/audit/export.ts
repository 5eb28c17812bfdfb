/** Writes audit records as CSV, or as one JSON object per line (NDJSON). */
import { csvLine } from '../../kernel/csv.ts'
import { auditFields } from './schemas.ts'
import type { RecordView } from './service.ts'

const columns = Object.keys(auditFields) as (keyof RecordView)[]

const cellOf = (value: RecordView[keyof RecordView]) => (Array.isArray(value) ? value.join(' ') : value)

async function* csvLines(parts: AsyncIterable<RecordView[]>) {
  yield csvLine(columns)
  for await (const records of parts)
    yield records.map((record) => csvLine(columns.map((name) => cellOf(record[name])))).join('')
}

async function* jsonLines(parts: AsyncIterable<RecordView[]>) {
  for await (const records of parts) yield records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

export const exports = {
  csv: { type: 'text/csv; charset=utf-8; header=present', lines: csvLines },
  ndjson: { type: 'application/x-ndjson; charset=utf-8', lines: jsonLines },
}
