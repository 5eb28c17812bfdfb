/** Compares the ticks of schedules with fixed cases, and with a slow reference that tests every minute. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cronProblem, parseCron } from '../../cron-expression.ts'
import { nextTick, timeZone } from './ticks.ts'

const ticks = (expression: string, zone: string, after: string, count: number) => {
  const found: string[] = []
  let at = Date.parse(after)
  for (let n = 0; n < count; n++) {
    const next = nextTick(parseCron(expression), timeZone(zone), at)
    if (next === undefined) break
    at = next
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const cases: [expression: string, zone: string, after: string, expected: string[]][] = [
  ['*/15 * * * *', 'UTC', '2026-01-01T00:00:00Z', ['2026-01-01T00:15:00Z', '2026-01-01T00:30:00Z']],
  ['0 7 * * MON-FRI', 'UTC', '2026-01-02T08:00:00Z', ['2026-01-05T07:00:00Z', '2026-01-06T07:00:00Z']],
  ['*/20 5 * * * *', 'UTC', '2026-01-01T00:05:20Z', ['2026-01-01T00:05:40Z', '2026-01-01T01:05:00Z']],
  ['0 0 29 FEB ?', 'UTC', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
  [
    '0 0 13 * 5',
    'UTC',
    '2026-01-01T00:00:00Z',
    ['2026-01-02T00:00:00Z', '2026-01-09T00:00:00Z', '2026-01-13T00:00:00Z'],
  ],
  ['0 0 * * 7', 'UTC', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00Z']],
  ['0 0 * * SAT-0', 'UTC', '2026-01-01T00:00:00Z', ['2026-01-03T00:00:00Z', '2026-01-04T00:00:00Z']],
  ['0 0 31 2 *', 'UTC', '2026-01-01T00:00:00Z', []],
  // Clocks in Berlin skip 2:00 to 3:00 on 29 March 2026.
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
  ['*/20 2 29 3 *', 'Europe/Berlin', '2026-03-28T00:00:00Z', ['2026-03-29T01:00:00Z', '2027-03-29T00:00:00Z']],
  ['0 3 29 3 *', 'Europe/Berlin', '2026-03-28T00:00:00Z', ['2026-03-29T01:00:00Z']],
  // Clocks in Berlin show 2:00 to 3:00 twice on 25 October 2026.
  ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
  ['0 * * * *', 'Europe/Berlin', '2026-10-24T23:00:00Z', ['2026-10-25T00:00:00Z', '2026-10-25T02:00:00Z']],
  ['0 12 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', ['2026-01-01T06:30:00Z']],
  // On Lord Howe Island, daylight saving time shifts clocks by half an hour.
  ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T20:00:00Z', ['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z']],
]
for (const [expression, zone, after, expected] of cases)
  test(`the next ticks of ${expression} in ${zone} after ${after} are ${expected.join(' and ') || 'none'}`, () => {
    assert.equal(cronProblem(expression) === undefined, expected.length > 0)
    assert.deepEqual(ticks(expression, zone, after, expected.length || 1), expected)
  })

const zoneNames = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Africa/Casablanca',
  'America/St_Johns',
  'Pacific/Apia',
]

const hourMs = 3_600_000

/** Returns all ticks in a period by trying a time every `stepMs`. A tick is the first occurrence of a local time that matches. */
function reference(expression: string, zone: string, from: number, to: number, stepMs: number): number[] {
  const fields = expression.split(' ')
  const withSeconds = fields.length === 6 ? fields : ['0', ...fields]
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const localOf = (time: number) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
    return Date.UTC(+parts.year!, +parts.month! - 1, +parts.day!, +parts.hour!, +parts.minute!, +parts.second!)
  }
  const seen = new Set<number>()
  const found = new Set<number>()
  // The search begins a day before the period, so that local times that occurred before the period are known.
  let before = localOf(from - 24 * hourMs - stepMs)
  for (let time = from - 24 * hourMs; time < to; time += stepMs) {
    const local = localOf(time)
    // A local time that was skipped has its tick at this time.
    for (let skipped = before + stepMs; skipped < local; skipped += stepMs)
      if (!seen.has(skipped) && matches(withSeconds, new Date(skipped))) found.add(time)
    if (!seen.has(local) && matches(withSeconds, new Date(local))) found.add(time)
    for (let passed = Math.min(before + stepMs, local); passed <= local; passed += stepMs) seen.add(passed)
    before = Math.max(before, local)
  }
  return [...found].filter((time) => time >= from).sort((a, b) => a - b)
}

function matches([second, minute, hour, dayOfMonth, month, dayOfWeek]: string[], date: Date): boolean {
  const values = (field: string, from: number, to: number) =>
    field.split(',').flatMap((item) => {
      const [range, step = '1'] = item.split('/') as [string, string?]
      const [first, last] = range === '*' ? [from, to] : range.split('-').map(Number)
      const end = last ?? (item.includes('/') ? to : first!)
      return Array.from({ length: to - from + 1 }, (_, n) => from + n).filter(
        (one) => one >= first! && one <= end && (one - first!) % Number(step) === 0,
      )
    })
  const has = (field: string, from: number, to: number, value: number) => values(field, from, to).includes(value)
  const isDate = has(dayOfMonth!, 1, 31, date.getUTCDate())
  const isWeekday = values(dayOfWeek!, 0, 7).some((day) => day % 7 === date.getUTCDay())
  const bothRestricted = !dayOfMonth!.startsWith('*') && !dayOfWeek!.startsWith('*')
  return (
    has(second!, 0, 59, date.getUTCSeconds()) &&
    has(minute!, 0, 59, date.getUTCMinutes()) &&
    has(hour!, 0, 23, date.getUTCHours()) &&
    has(month!, 1, 12, date.getUTCMonth() + 1) &&
    (bothRestricted ? isDate || isWeekday : isDate && isWeekday)
  )
}

const field = (from: number, to: number) => {
  const value = fc.integer({ min: from, max: to })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc.integer({ min: 1, max: 30 })
  const item = fc.oneof(
    value.map(String),
    range,
    fc.tuple(range, step).map(([values, by]) => `${values}/${by}`),
    step.map((by) => `*/${by}`),
  )
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join()) },
  )
}

/** Generates times that are often near changes to and from daylight saving time: in March, April, October and November. */
const days = fc
  .tuple(fc.integer({ min: 2000, max: 2040 }), fc.constantFrom(0, 1, 2, 3, 8, 9, 10), fc.integer({ min: 1, max: 28 }))
  .map(([year, month, day]) => Date.UTC(year, month, day))

test('the ticks on random days in several time zones equal the ticks of a reference that tests every minute', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...zoneNames),
      days,
      field(0, 59),
      field(0, 23),
      field(1, 31),
      field(1, 12),
      field(0, 7),
      (zone, from, minute, hour, dayOfMonth, month, dayOfWeek) => {
        const expression = [minute, hour, dayOfMonth, month, dayOfWeek].join(' ')
        const to = from + 2 * 24 * hourMs
        const expected = reference(expression, zone, from, to, 60_000)
        const found: number[] = []
        const cron = parseCron(expression)
        for (let at: number | undefined = from - 1; at !== undefined && found.length <= expected.length; ) {
          at = nextTick(cron, timeZone(zone), at)
          if (at === undefined || at >= to) break
          found.push(at)
        }
        assert.deepEqual(
          found.map((time) => new Date(time).toISOString()),
          expected.map((time) => new Date(time).toISOString()),
          expression,
        )
      },
    ),
    { numRuns: 12 },
  )
})
