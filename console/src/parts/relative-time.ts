/**
 * Formats relative times in English, such as `3 minutes ago`, with the same texts as `Intl.RelativeTimeFormat`. `Intl` is not used, because
 * its first use in a tab takes 30 ms, and 120 ms on a slow computer, which would delay the first rows of a list.
 */
type Unit = 'second' | 'minute' | 'hour' | 'day' | 'month' | 'year'

const steps: [Unit, number][] = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Number.POSITIVE_INFINITY],
]

/** Returns a time relative to now, in the largest unit that fits: −3 and `minute` for a time 200 seconds ago. */
export function relativeTo(ms: number, now: number): [number, Unit] {
  let value = (ms - now) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return [Math.round(value), unit]
    value /= size
  }
  return [Number.NaN, 'year']
}

/** Names of the previous, the current and the next unit, where they exist: yesterday, today, tomorrow. */
const words: Record<Unit, (string | undefined)[]> = {
  second: [undefined, 'now'],
  minute: [undefined, 'this minute'],
  hour: [undefined, 'this hour'],
  day: ['yesterday', 'today', 'tomorrow'],
  month: ['last month', 'this month', 'next month'],
  year: ['last year', 'this year', 'next year'],
}

export function englishRelative(value: number, unit: Unit): string {
  const word = words[unit][value + 1]
  if (word !== undefined) return word
  const amount = Math.abs(value)
  const digits = String(amount).replace(/\B(?=(?:\d{3})+$)/g, ',')
  const text = `${digits} ${amount === 1 ? unit : `${unit}s`}`
  return value < 0 ? `${text} ago` : `in ${text}`
}
