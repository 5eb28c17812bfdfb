/** Writes lines of CSV (RFC 4180). Spreadsheets can open them without running formulas in the values. */

/** The value of a cell. Objects and arrays become JSON; null and undefined become an empty cell. */
export type CsvValue = unknown

const formula = /^[=+\-@\t\r\n]/
const quoted = /[",\r\n]|^\s|\s$/

/** Quotes a value if needed. A text that a spreadsheet would evaluate as a formula gets an apostrophe in front; numbers stay numbers. */
export function csvCell(value: CsvValue): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value)
  const safe = formula.test(text) ? `'${text}` : text
  return quoted.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csvLine = (values: CsvValue[]) => `${values.map(csvCell).join(',')}\r\n`
