/** Measures contenders alternately, so that disturbances of the machine affect all of them. */
import { readFileSync } from 'node:fs'
import { median } from '../report.ts'
import type { Contender, PointTotals } from './queries.ts'

export interface Timing {
  ms: number
  fastest: number
  slowest: number
}

/**
 * First compares the responses of all contenders, which also warms them up. Then measures. `within` is the tolerated relative difference of
 * sums.
 */
export async function measureAlternately(contenders: Contender[], rounds: number, expected: number, within = 1e-9) {
  let reference: PointTotals | undefined
  for (const { name, ask, totalsOf } of contenders) {
    const answer = totalsOf((await ask(true)).text)
    if (answer.count !== expected) throw new Error(`${name} answered ${answer.count} instead of ${expected} points`)
    reference ??= answer
    if (Math.abs(answer.sum / reference.sum - 1) > within)
      throw new Error(`the values of ${name} have the sum ${answer.sum} instead of ${reference.sum}`)
  }
  const times = contenders.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, { ask }] of contenders.entries()) times[index]!.push((await ask(false)).ms)
  return contenders.map(({ name }, index): Timing => {
    const all = times[index]!
    const timing = { ms: median(all), fastest: Math.min(...all), slowest: Math.max(...all) }
    const text = `${timing.ms.toFixed(1)} ms (${timing.fastest.toFixed(1)} to ${timing.slowest.toFixed(1)})`
    console.error(`${name}: ${expected} points in ${text}`)
    return timing
  })
}

const pageKb = 4
const rssMb = (pid: number) => (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageKb) / 1024

export interface Memory {
  beforeMb: number
  peakMb: number
  afterMb: number
}

const sampleEveryMs = 10

/** Measures the memory of a process while the work runs. */
export async function measureMemory(pid: number, work: () => Promise<unknown>): Promise<Memory> {
  const beforeMb = rssMb(pid)
  let peakMb = beforeMb
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, rssMb(pid))
  }, sampleEveryMs)
  try {
    await work()
  } finally {
    clearInterval(sampling)
  }
  const afterMb = rssMb(pid)
  return { beforeMb, peakMb: Math.max(peakMb, afterMb), afterMb }
}
