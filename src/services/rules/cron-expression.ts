/** Parses cron expressions with five fields, or with six fields if the first field is the seconds (document 5, 5.9). */

export interface CronExpression {
  seconds: number[]
  minutes: number[]
  hours: number[]
  daysOfMonth: Set<number>
  months: Set<number>
  daysOfWeek: Set<number>
  /** True if the day of the month and the day of the week are both restricted. A date then needs to match only one of the two fields. */
  isEitherDay: boolean
}

interface Field {
  name: string
  from: number
  to: number
  names?: readonly string[]
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const fields: readonly Field[] = [
  { name: 'second', from: 0, to: 59 },
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: monthNames },
  { name: 'day of week', from: 0, to: 7, names: dayNames },
]

/** Parses an expression. Throws if the expression is invalid; `cronProblem` therefore checks each expression before it is stored. */
export function parseCron(expression: string): CronExpression {
  const parsed = parse(expression)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed
}

/** Returns the problem with an expression, or undefined. */
export function cronProblem(expression: string): string | undefined {
  const parsed = parse(expression)
  if (typeof parsed === 'string') return parsed
  return hasDate(parsed) ? undefined : 'no month of the expression has the given day, so the trigger would never fire'
}

const daysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Returns whether a date matches. Every date of the calendar, also 29 February, occurs on every day of the week. */
function hasDate({ daysOfMonth, months, isEitherDay }: CronExpression): boolean {
  const firstDay = Math.min(...daysOfMonth)
  return isEitherDay || [...months].some((month) => firstDay <= daysOfMonths[month - 1]!)
}

const isFree = (part: string) => part.startsWith('*') || part.startsWith('?')

/** Returns the parsed expression, or the problem with it. */
function parse(expression: string): CronExpression | string {
  const words = expression.trim().split(/\s+/)
  if (words.length !== 5 && words.length !== 6) return `expected 5 or 6 fields, got ${words.length}`
  const parts = words.length === 5 ? ['0', ...words] : words
  const values: number[][] = []
  for (const [index, field] of fields.entries()) {
    const ofField = valuesOf(field, parts[index]!)
    if (typeof ofField === 'string') return `${field.name}: ${ofField}`
    values.push(ofField)
  }
  const [seconds, minutes, hours, daysOfMonth, months, daysOfWeek] = values as [
    number[],
    number[],
    number[],
    number[],
    number[],
    number[],
  ]
  return {
    seconds,
    minutes,
    hours,
    daysOfMonth: new Set(daysOfMonth),
    months: new Set(months),
    daysOfWeek: new Set(daysOfWeek.map((day) => day % 7)),
    isEitherDay: !isFree(parts[3]!) && !isFree(parts[5]!),
  }
}

/** Returns the values of a field in ascending order, or the problem with it. */
function valuesOf(field: Field, part: string): number[] | string {
  const values = new Set<number>()
  for (const item of part.split(',')) {
    const range = rangeOf(field, item)
    if (typeof range === 'string') return range
    for (let value = range.from; value <= range.to; value += range.step) values.add(value)
  }
  return [...values].sort((a, b) => a - b)
}

/** Parses a value, range or step of a list. */
function rangeOf(field: Field, item: string): { from: number; to: number; step: number } | string {
  const [range = '', stepText, ...more] = item.split('/')
  if (more.length > 0) return `"${item}" has two steps`
  if (stepText !== undefined && !(/^\d{1,4}$/.test(stepText) && Number(stepText) > 0))
    return `"${stepText}" is not a step`
  const step = Number(stepText ?? 1)
  if (range === '*' || range === '?') return { from: field.from, to: field.to, step }
  const [first = '', last, ...rest] = range.split('-')
  if (rest.length > 0) return `"${range}" is not a range`
  const from = numberOf(field, first)
  // A step after a single value continues to the end of the field.
  const to = last !== undefined ? numberOf(field, last) : stepText === undefined ? from : field.to
  if (from === undefined || to === undefined)
    return `"${range}" is not a value from ${field.from} to ${field.to}${field.names ? ' or a name' : ''}`
  if (from <= to) return { from, to, step }
  // A range of weekdays may end with 0, which means Sunday.
  return field.to === 7 && to === 0 ? { from, to: 7, step } : `"${range}" ends before it starts`
}

function numberOf({ from, to, names }: Field, text: string): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1
  const value = named >= 0 ? named + from : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= from && value <= to ? value : undefined
}
