/** Prints output of commands, and formats numbers for it. */
import type { ContentTotals } from '../kernel/backup/manifest.ts'
import { monotonicMs } from '../kernel/clock.ts'

export const print = (sentence: string) => void process.stdout.write(`${sentence}\n`)

export const countText = (count: number, noun: string) =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export const secondsSince = (startedMs: number) => `${((monotonicMs() - startedMs) / 1000).toFixed(1)} s`

/** Returns a function that prints its text at most every few seconds, to show the progress of long work. */
export function progressPrinter(everyMs = 3000): (sentence: () => string) => void {
  let last = monotonicMs()
  return (sentence) => {
    if (monotonicMs() - last < everyMs) return
    last = monotonicMs()
    print(sentence())
  }
}

/** Describes the contents of files and blobs in a backup. */
export function describeContents({ count, bytes, missing, damaged }: ContentTotals): string[] {
  const sentences = [`With ${countText(count, 'content')} of files and blobs, ${sizeText(bytes)}.`]
  if (missing > 0)
    sentences.push(
      `Missing in the store when the backup was made: ${countText(missing, 'content')}. Downloading them fails with 404, as before the backup.`,
    )
  if (damaged > 0)
    sentences.push(
      `Different from what was uploaded: ${countText(damaged, 'content')}. The backup has them as they were found.`,
    )
  return sentences
}
