/** Computes the times of cron expressions (document 5, 5.9): the next tick after a time, in a time zone with daylight saving time. */
import type { CronExpression } from '../../cron-expression.ts'

const dayMs = 86_400_000
/** Number of months that are searched. Even rare combinations, such as 29 February on a Monday, occur within 41 years or never. */
const searchMonths = 41 * 12

/** A local time in milliseconds, encoded as if it were in UTC. */
type Local = number

export interface TimeZone {
  /** Returns local time minus UTC. */
  offsetAt(time: number): number
}

const zones = new Map<string, TimeZone>()

export function timeZone(name: string): TimeZone {
  let zone = zones.get(name)
  if (!zone) {
    zone = name === 'UTC' ? { offsetAt: () => 0 } : createTimeZone(name)
    zones.set(name, zone)
  }
  return zone
}

function createTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return {
    offsetAt(time) {
      const whole = Math.floor(time / 1000) * 1000
      const parts: Record<string, number> = {}
      for (const { type, value } of format.formatToParts(whole)) parts[type] = Number(value)
      const { year, month, day, hour, minute, second } = parts as Record<string, number>
      return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - whole
    },
  }
}

/**
 * Returns the instant of a local time. For a local time that occurs twice, returns the first instant. For a local time that is skipped
 * because clocks go forward, returns the first instant after the change.
 */
function instantOf(local: Local, zone: TimeZone): number {
  const [before, after] = [zone.offsetAt(local - dayMs), zone.offsetAt(local + dayMs)]
  const [early, late] = [local - Math.max(before, after), local - Math.min(before, after)]
  if (early + zone.offsetAt(early) === local) return early
  if (late + zone.offsetAt(late) === local) return late
  return firstAfterChange(early, late, zone)
}

/** Finds the instant between two times at which the offset changes. */
function firstAfterChange(from: number, to: number, zone: TimeZone): number {
  let [low, high] = [Math.floor(from / 1000), Math.ceil(to / 1000)]
  const offset = zone.offsetAt(low * 1000)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (zone.offsetAt(middle * 1000) === offset) low = middle
    else high = middle
  }
  return high * 1000
}

/** Returns the first tick after a time; undefined if there is no such tick. */
export function nextTick(cron: CronExpression, zone: TimeZone, after: number): number | undefined {
  const start: Local = Math.floor((after + zone.offsetAt(after)) / 1000) * 1000
  for (const local of localTimes(cron, start)) {
    const instant = instantOf(local, zone)
    if (instant > after) return instant
  }
  return undefined
}

/** Yields the local times that match an expression, starting at a time. */
function* localTimes(cron: CronExpression, start: Local): Generator<Local> {
  for (const day of daysFrom(cron, Math.floor(start / dayMs) * dayMs))
    for (const hour of cron.hours) {
      const hourTime = day + hour * 3_600_000
      if (hourTime + 3_600_000 <= start) continue
      for (const minute of cron.minutes) {
        const minuteTime = hourTime + minute * 60_000
        if (minuteTime + 60_000 <= start) continue
        for (const second of cron.seconds) if (minuteTime + second * 1000 >= start) yield minuteTime + second * 1000
      }
    }
}

/** Yields the days that match an expression. Months that the expression excludes are not searched. */
function* daysFrom(cron: CronExpression, first: Local): Generator<Local> {
  let day = first
  for (let months = 0; months < searchMonths; months++) {
    const date = new Date(day)
    const nextMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
    if (cron.months.has(date.getUTCMonth() + 1))
      for (; day < nextMonth; day += dayMs) if (matchesDay(cron, new Date(day))) yield day
    day = nextMonth
  }
}

function matchesDay({ daysOfMonth, daysOfWeek, isEitherDay }: CronExpression, date: Date): boolean {
  const isDayOfMonth = daysOfMonth.has(date.getUTCDate())
  const isDayOfWeek = daysOfWeek.has(date.getUTCDay())
  return isEitherDay ? isDayOfMonth || isDayOfWeek : isDayOfMonth && isDayOfWeek
}
