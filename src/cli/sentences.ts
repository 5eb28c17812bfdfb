/** How commands word amounts. */
import type { ContentTotals } from '../kernel/backup/manifest.ts'
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

/** What a backup holds of files and blobs. */
export function sentencesAbout({ count, bytes, missing, damaged }: ContentTotals): string[] {
  const sentences = [`With ${amount(count, 'content')} of files and blobs, ${size(bytes)}.`]
  if (missing > 0)
    sentences.push(
      `${amount(missing, 'content')} more could not be found in the store when the backup was made: a download of them is answered with 404, as it was then.`,
    )
  if (damaged > 0)
    sentences.push(
      `${amount(damaged, 'content')} of these had other bytes than were once uploaded, and are in it as they were found.`,
    )
  return sentences
}
