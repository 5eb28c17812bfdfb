/** Times in the zone of the person, with UTC beside. The only code that formats dates. */
import { useEffect, useState } from 'react'
import { texts } from './texts.ts'

type Instant = string | number | Date

const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

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
    if (Math.abs(value) < size) return relative.format(Math.round(value), unit)
    value /= size
  }
  return ''
}

export const formatTime = (instant: Instant) => absolute.format(new Date(instant))
export const formatDay = (instant: Instant) => day.format(new Date(instant))
/** Returns the time in UTC, as the API writes it. */
export const utcOf = (instant: Instant) => new Date(instant).toISOString()
/** Returns milliseconds since 1970; for arguments of the API and charts. */
export const nowMs = () => Date.now()
export const msOf = (instant: Instant) => new Date(instant).getTime()
/** Returns the name of the person's time zone, such as Europe/Vienna. */
export const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

const refreshMs = 30_000

export function Time({
  value,
  style = 'relative',
}: {
  value: Instant | null | undefined
  /** `clock`: the time of a day within the last day, else the date too. */
  style?: 'relative' | 'full' | 'day' | 'clock'
}) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (style !== 'relative') return
    const timer = setInterval(() => setNow(Date.now()), refreshMs)
    return () => clearInterval(timer)
  }, [style])
  if (value === null || value === undefined || value === '') return <span className="text-none">{texts.none}</span>
  const ms = new Date(value).getTime()
  if (Number.isNaN(ms)) return <bdi className="text">{String(value)}</bdi>
  const shown =
    style === 'relative'
      ? ago(ms, Math.max(now, Date.now()))
      : style === 'day'
        ? formatDay(ms)
        : style === 'clock' && new Date().toDateString() === new Date(ms).toDateString()
          ? clock.format(ms)
          : formatTime(ms)
  return (
    <time className="time" dateTime={utcOf(ms)} title={`${formatTime(ms)}\n${utcOf(ms)} UTC`}>
      {shown}
    </time>
  )
}
