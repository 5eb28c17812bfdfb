/** Durations: ISO 8601 texts such as `PT6H`, and durations in words. */
import { counted } from './texts.ts'

const minuteMs = 60_000
const dayMs = 1440 * minuteMs

const duration =
  /^P(?=.)(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?=.)(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$/
const unitsMs = [365 * dayMs, 30 * dayMs, 7 * dayMs, dayMs, 60 * minuteMs, minuteMs, 1000]
const durationMax = 100 * 365 * dayMs

/** Parses an ISO 8601 duration such as `PT6H`. Returns undefined if the text is not a duration, or is longer than a century. */
export function durationOf(text: string): number | undefined {
  const parts = duration.exec(text)?.slice(1)
  if (!parts) return undefined
  const ms = parts.reduce((sum, part, index) => sum + Number(part ?? 0) * unitsMs[index]!, 0)
  return ms > 0 && ms <= durationMax ? ms : undefined
}

const spokenUnits: [name: string, ms: number][] = [
  ['day', dayMs],
  ['hour', 60 * minuteMs],
  ['minute', minuteMs],
  ['second', 1000],
]

/** Returns a duration in words, in the largest unit of which it is a multiple greater than one: `36 hours`, and `24 hours` for a day. */
export function spokenDuration(ms: number): string {
  const [name, unit] = spokenUnits.find(([, unit]) => ms % unit === 0 && ms > unit) ?? spokenUnits.at(-1)!
  return counted(Math.round(ms / unit), name)
}
