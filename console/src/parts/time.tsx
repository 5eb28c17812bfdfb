/** Times in the zone of the person, with UTC beside. The only code that formats dates. */
import { useSyncExternalStore } from 'react'
import { englishRelative, relativeTo } from './relative-time.ts'
import { texts } from './texts.ts'

type Instant = string | number | Date

interface Formats {
  /** Time zone such as Europe/Vienna. Default: that of the device. */
  zone?: string | undefined
  /** Language of dates, such as `de-AT`. Default: English. */
  language?: string | undefined
}

const options = {
  absolute: { dateStyle: 'medium', timeStyle: 'medium' },
  clock: { timeStyle: 'medium' },
  day: { dateStyle: 'medium' },
  minute: { timeStyle: 'short' },
  shortDay: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
} satisfies Record<string, Intl.DateTimeFormatOptions>

/** Formats are made when they are first used, because each takes milliseconds (`relative-time.ts`). */
function makeFormats({ zone, language }: Formats) {
  const made = new Map<string, Intl.DateTimeFormat>()
  let relative: Intl.RelativeTimeFormat | undefined
  return {
    zone,
    language,
    date(name: keyof typeof options): Intl.DateTimeFormat {
      const known = made.get(name)
      if (known) return known
      const format = new Intl.DateTimeFormat(language ?? 'en-GB', { ...options[name], timeZone: zone })
      made.set(name, format)
      return format
    },
    relative([value, unit]: ReturnType<typeof relativeTo>): string {
      if (language === undefined) return englishRelative(value, unit)
      relative ??= new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
      return relative.format(value, unit)
    },
  }
}

let formats = makeFormats({})
const listeners = new Set<() => void>()

/** Changes how all times are shown. Returns false if the browser does not know the zone or language. */
export function setFormats(newFormats: Formats): boolean {
  const { zone, language } = newFormats
  if (zone === formats.zone && language === formats.language) return true
  const made = makeFormats(newFormats)
  try {
    made.date('absolute')
  } catch {
    return false
  }
  formats = made
  for (const listener of listeners) listener()
  return true
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Returns the names of all time zones that the browser knows. */
export const timeZones = () => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

/** Returns `3 minutes ago`. */
export const ago = (instant: Instant, now = Date.now()) =>
  formats.relative(relativeTo(new Date(instant).getTime(), now))

export const formatTime = (instant: Instant) => formats.date('absolute').format(new Date(instant))
/** Returns the time of the day, with the date if it is another day than today. */
export const formatClock = (instant: Instant) =>
  formatDay(Date.now()) === formatDay(instant) ? formats.date('clock').format(new Date(instant)) : formatTime(instant)
export const formatDay = (instant: Instant) => formats.date('day').format(new Date(instant))
/** Returns the texts of the time axis of a chart, whose marks are `stepMs` apart: the day once, then times of the day. */
export function axisTexts(times: number[], stepMs: number): string[] {
  if (stepMs >= 28 * dayMs) return times.map((ms) => formats.date('month').format(ms))
  let lastDay = ''
  return times.map((ms) => {
    const day = formats.date('shortDay').format(ms)
    const clock = formats.date(stepMs < 60_000 ? 'clock' : 'minute').format(ms)
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
export const timeZone = () => formats.date('absolute').resolvedOptions().timeZone

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
  // The title is made when the pointer is over it: formats of dates take long (`relative-time.ts`).
  const setTitle = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    currentTarget.title = `${formatTime(ms)}\n${utcOf(ms)} UTC`
  }
  return (
    <time className="time" dateTime={utcOf(ms)} onPointerEnter={setTitle}>
      {shown}
    </time>
  )
}
