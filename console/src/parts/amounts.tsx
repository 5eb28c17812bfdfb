/** Formats bytes and durations, and shows how much of a limit is used. */
import type { ReactNode } from 'react'
import { count } from './texts.ts'

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Returns a number of bytes in a readable unit, such as `1.4 GB`. A kilobyte has 1,000 bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${count(unit === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10)} ${units[unit]}`
}

const steps: [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** Returns a duration in its two largest units, such as `2 d 3 h`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds)
  const first = steps.findIndex(([, size]) => whole >= size)
  if (first < 0) return '0 s'
  let rest = whole
  return steps
    .slice(first, first + 2)
    .map(([unit, size]) => {
      const value = Math.floor(rest / size)
      rest -= value * size
      return value > 0 ? `${count(value)} ${unit}` : ''
    })
    .filter(Boolean)
    .join(' ')
}

/** Shows how much of a limit is used, as a bar and a text. If `isBad` is true, the bar has the colour of errors, whatever its length. */
export function Meter({
  label,
  value,
  max,
  children,
  isBad = false,
}: {
  label: string
  value: number
  max: number
  children: ReactNode
  isBad?: boolean
}) {
  const share = max > 0 ? Math.min(1, value / max) : 0
  const tone = isBad || share > 0.95 ? 'bad' : share > 0.8 ? 'warn' : 'good'
  return (
    <div className="meter">
      <div className="meter-texts">
        <span>{label}</span>
        <span className="quiet">{children}</span>
      </div>
      <meter className={`meter-bar meter-${tone}`} aria-label={label} min={0} max={1} value={share} />
    </div>
  )
}
