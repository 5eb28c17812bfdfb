/** Checks the syntax of cron expressions (document 5, 5.9). */

interface Field {
  name: string
  from: number
  to: number
  names?: readonly string[]
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const days = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const fields: readonly Field[] = [
  { name: 'second', from: 0, to: 59 },
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: months },
  { name: 'day of week', from: 0, to: 7, names: days },
]

/** Returns what is wrong with an expression of five or six fields. */
export function cronProblem(expression: string): string | undefined {
  const parts = expression.trim().split(/\s+/)
  if (parts.length !== 5 && parts.length !== 6) return `expected 5 or 6 fields, got ${parts.length}`
  const expected = parts.length === 5 ? fields.slice(1) : fields
  for (const [index, field] of expected.entries())
    for (const item of parts[index]!.split(',')) {
      const problem = itemProblem(field, item)
      if (problem) return `${field.name}: ${problem}`
    }
  return undefined
}

function itemProblem(field: Field, item: string): string | undefined {
  const [range = '', step, ...more] = item.split('/')
  if (more.length > 0) return `"${item}" has two steps`
  if (step !== undefined && !(/^\d{1,4}$/.test(step) && Number(step) > 0)) return `"${step}" is no step`
  if (range === '*' || range === '?') return undefined
  const [first = '', last, ...rest] = range.split('-')
  if (rest.length > 0) return `"${range}" is no range`
  const from = numberOf(field, first)
  const to = last === undefined ? from : numberOf(field, last)
  if (from === undefined || to === undefined)
    return `"${range}" is no value from ${field.from} to ${field.to}${field.names ? ' or a name' : ''}`
  return from > to && !(field.name === 'day of week' && to === 0) ? `"${range}" ends before it starts` : undefined
}

function numberOf({ from, to, names }: Field, text: string): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1
  const value = named >= 0 ? named + from : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= from && value <= to ? value : undefined
}
