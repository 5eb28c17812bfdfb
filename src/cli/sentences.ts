/** How commands word amounts. */
import { monotonicMs } from '../kernel/clock.ts'

export const tell = (sentence: string) => void process.stdout.write(`${sentence}\n`)

export const amount = (count: number, noun: string) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export const secondsSince = (startedMs: number) => `${((monotonicMs() - startedMs) / 1000).toFixed(1)} s`

/** Says what it is given every few seconds, so that long work shows that it goes on. */
export function occasionally(everyMs = 3000): (sentence: () => string) => void {
  let last = monotonicMs()
  return (sentence) => {
    if (monotonicMs() - last < everyMs) return
    last = monotonicMs()
    tell(sentence())
  }
}
