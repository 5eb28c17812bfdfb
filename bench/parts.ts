/** Runs the parts of a bench. `BENCH_PARTS=one,other` selects some of them. */
import { type Figure, rowOf } from './report.ts'

export const selectedParts = process.env.BENCH_PARTS?.split(',')

/** Runs the selected parts in the order of `parts`, and prints the figures of each part when it ends. */
export async function runParts(parts: Record<string, () => Promise<Figure[]>>): Promise<Figure[]> {
  const unknown = selectedParts?.find((name) => !Object.hasOwn(parts, name))
  if (unknown) throw new Error(`no part ${unknown}; there are ${Object.keys(parts).join(', ')}`)
  const figures: Figure[] = []
  for (const [name, run] of Object.entries(parts)) {
    if (selectedParts && !selectedParts.includes(name)) continue
    const began = performance.now()
    const measured = await run()
    const seconds = Math.round((performance.now() - began) / 1000)
    console.error(`${name}, ${seconds} s:\n${measured.map(rowOf).join('\n')}`)
    figures.push(...measured)
  }
  return figures
}

/** Returns a function that runs the work when it is first called, and returns the same result for every later call. */
export function once<T>(work: () => T): { (): T; isCalled(): boolean } {
  let result: { value: T } | undefined
  const get = () => {
    result ??= { value: work() }
    return result.value
  }
  return Object.assign(get, { isCalled: () => result !== undefined })
}
