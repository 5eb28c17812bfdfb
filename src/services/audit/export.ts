/** Formats of exported audit records. */
import { auditFields } from './schemas.ts'
import type { RecordView } from './service.ts'

const columns = Object.keys(auditFields) as (keyof RecordView)[]

/** Quotes a value if it needs it. A value that a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: RecordView[keyof RecordView]): string {
  if (value === undefined) return ''
  const text = Array.isArray(value) ? value.join(' ') : String(value)
  const harmless = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

async function* csvLines(parts: AsyncIterable<RecordView[]>) {
  yield `${columns.join(',')}\r\n`
  for await (const records of parts)
    yield records.map((record) => `${columns.map((name) => cell(record[name])).join(',')}\r\n`).join('')
}

async function* jsonLines(parts: AsyncIterable<RecordView[]>) {
  for await (const records of parts) yield records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

export const exports = {
  csv: { type: 'text/csv; charset=utf-8; header=present', lines: csvLines },
  ndjson: { type: 'application/x-ndjson; charset=utf-8', lines: jsonLines },
}
