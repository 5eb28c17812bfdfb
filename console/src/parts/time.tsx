/** Shows times in the time zone of the user, and in UTC on demand. This is the only code that formats dates. */
import { useSyncExternalStore } from 'react'
import { englishRelative, relativeTo } from './relative-time.ts'
import { texts } from './texts.ts'

type Instant = string | number | Date

interface Formats {
  /** Time zone such as Europe/Vienna. Default: the time zone of the device. */
  zone?: string | undefined
  /** Language of dates, such as `de-AT`. Default: English. */
  language?: string | undefined
}

const options = {
  absolute: { dateStyle: 'medium', timeStyle: 'medium' },
  full: {
    ...{ year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' },
    timeZoneName: 'short',
  },
  clock: { timeStyle: 'medium' },
  day: { dateStyle: 'medium' },
  minute: { timeStyle: 'short' },
  shortDay: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
} satisfies Record<string, Intl.DateTimeFormatOptions>

/**
 * Returns functions that format dates. A format is created only when it is first used, because its creation takes milliseconds
 * (`relative-time.ts`).
 */
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

/** Changes how all times are shown. Returns false if the browser does not support the time zone or language. */
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

/** Returns the names of all time zones that the browser supports. */
export const timeZones = () => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

/** Returns a relative time, such as `3 minutes ago`. */
export const ago = (instant: Instant, now = Date.now()) =>
  formats.relative(relativeTo(new Date(instant).getTime(), now))

export const formatTime = (instant: Instant) => formats.date('absolute').format(new Date(instant))
/** Returns the time with its time zone, for pages that users in different time zones share. */
export const formatWithZone = (instant: Instant) => formats.date('full').format(new Date(instant))
/** Returns the time of day, with the date if the day is not today. */
export const formatClock = (instant: Instant) =>
  formatDay(Date.now()) === formatDay(instant) ? formats.date('clock').format(new Date(instant)) : formatTime(instant)
export const formatDay = (instant: Instant) => formats.date('day').format(new Date(instant))
/**
 * Returns the labels of the time axis of a chart, whose marks are `stepMs` apart. Marks less than a day apart show the time of day; the
 * first mark of each further day shows the date instead.
 */
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

/** Returns a date, for libraries that need a `Date`. */
export const dateOf = (ms: number) => new Date(ms)
/** Returns the time in UTC, as the API writes it. */
export const utcOf = (instant: Instant) => new Date(instant).toISOString()
/** Returns the current time in milliseconds since 1970, for arguments of the API and for charts. */
export const nowMs = () => Date.now()
export const msOf = (instant: Instant) => new Date(instant).getTime()
/** Returns the name of the time zone of the user, such as Europe/Vienna. */
export const timeZone = () => formats.date('absolute').resolvedOptions().timeZone

const dayMs = 86_400_000
const refreshMs = 30_000

let clockMs = Date.now()
let clock: ReturnType<typeof setInterval> | undefined
const clockListeners = new Set<() => void>()

/** Calls the listener when relative times must be updated. All relative times share one timer, because a table can have two in each row. */
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
  /** `clock`: the time of day, with the date if the day is not today. */
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
          : formatWithZone(ms)
  // The title is set only when the pointer is over the element, because formatting dates is slow (`relative-time.ts`).
  const setTitle = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    currentTarget.title = `${formatWithZone(ms)}\n${utcOf(ms)} UTC`
  }
  return (
    <time className="time" dateTime={utcOf(ms)} onPointerEnter={setTitle}>
      {shown}
    </time>
  )
}
