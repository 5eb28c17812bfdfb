/** Times in the zone of the person, with UTC beside. The only code that formats dates. */
import { useSyncExternalStore } from 'react'
import { texts } from './texts.ts'

type Instant = string | number | Date

interface Formats {
  /** Time zone such as Europe/Vienna. Default: that of the device. */
  zone?: string | undefined
  /** Language of dates, such as `de-AT`. Default: English. */
  language?: string | undefined
}

const makeFormats = ({ zone, language = 'en-GB' }: Formats) => ({
  absolute: new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', timeZone: zone }),
  clock: new Intl.DateTimeFormat(language, { timeStyle: 'medium', timeZone: zone }),
  day: new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: zone }),
  minute: new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone: zone }),
  shortDay: new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: zone }),
  month: new Intl.DateTimeFormat(language, { month: 'short', year: 'numeric', timeZone: zone }),
  relative: new Intl.RelativeTimeFormat(language, { numeric: 'auto' }),
})

let formats = makeFormats({})
const listeners = new Set<() => void>()

/** Changes how all times are shown. Returns false if the browser does not know the zone or language. */
export function setFormats(newFormats: Formats): boolean {
  try {
    formats = makeFormats(newFormats)
  } catch {
    return false
  }
  for (const listener of listeners) listener()
  return true
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Returns the names of all time zones that the browser knows. */
export const timeZones = () => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Number.POSITIVE_INFINITY],
]

/** Returns `3 minutes ago`. */
export function ago(instant: Instant, now = Date.now()): string {
  let value = (new Date(instant).getTime() - now) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return formats.relative.format(Math.round(value), unit)
    value /= size
  }
  return ''
}

export const formatTime = (instant: Instant) => formats.absolute.format(new Date(instant))
/** Returns the time of the day, with the date if it is another day than today. */
export const formatClock = (instant: Instant) =>
  formatDay(Date.now()) === formatDay(instant) ? formats.clock.format(new Date(instant)) : formatTime(instant)
export const formatDay = (instant: Instant) => formats.day.format(new Date(instant))
/** Returns the texts of the time axis of a chart, whose marks are `stepMs` apart: the day once, then times of the day. */
export function axisTexts(times: number[], stepMs: number): string[] {
  if (stepMs >= 28 * dayMs) return times.map((ms) => formats.month.format(ms))
  let lastDay = ''
  return times.map((ms) => {
    const day = formats.shortDay.format(ms)
    const clock = (stepMs < 60_000 ? formats.clock : formats.minute).format(ms)
    const isOther = day !== lastDay
    const isFirst = lastDay === ''
    lastDay = day
    if (stepMs >= dayMs) return day
    return isOther && !isFirst ? day : clock
  })
}

/** Returns a date, for libraries that need one. */
export const dateOf = (ms: number) => new Date(ms)
/** Returns the time in UTC, as the API writes it. */
export const utcOf = (instant: Instant) => new Date(instant).toISOString()
/** Returns milliseconds since 1970; for arguments of the API and charts. */
export const nowMs = () => Date.now()
export const msOf = (instant: Instant) => new Date(instant).getTime()
/** Returns the name of the person's time zone, such as Europe/Vienna. */
export const timeZone = () => formats.absolute.resolvedOptions().timeZone

const dayMs = 86_400_000
const refreshMs = 30_000

let clockMs = Date.now()
let clock: ReturnType<typeof setInterval> | undefined
const clockListeners = new Set<() => void>()

/** All relative times share one timer: a table has two in each row. */
function subscribeToClock(listener: () => void) {
  clockListeners.add(listener)
  clock ??= setInterval(() => {
    clockMs = Date.now()
    for (const each of clockListeners) each()
  }, refreshMs)
  return () => {
    clockListeners.delete(listener)
    if (clockListeners.size > 0) return
    clearInterval(clock)
    clock = undefined
  }
}
const noSubscription = () => () => {}

export function Time({
  value,
  style = 'relative',
}: {
  value: Instant | null | undefined
  /** `clock`: the time of day, with the date if it is another day than today. */
  style?: 'relative' | 'full' | 'day' | 'clock'
}) {
  useSyncExternalStore(subscribe, () => formats)
  const now = useSyncExternalStore(style === 'relative' ? subscribeToClock : noSubscription, () => clockMs)
  if (value === null || value === undefined || value === '') return <span className="text-none">{texts.none}</span>
  const ms = new Date(value).getTime()
  if (Number.isNaN(ms)) return <bdi className="text">{String(value)}</bdi>
  const shown =
    style === 'relative'
      ? ago(ms, Math.max(now, Date.now()))
      : style === 'day'
        ? formatDay(ms)
        : style === 'clock'
          ? formatClock(ms)
          : formatTime(ms)
  return (
    <time className="time" dateTime={utcOf(ms)} title={`${formatTime(ms)}\n${utcOf(ms)} UTC`}>
      {shown}
    </time>
  )
}
