/** Contenders in turns, so that what disturbs the machine disturbs all of them. */
import { readFileSync } from 'node:fs'
import { median } from '../report.ts'
import type { Contender, Found } from './asking.ts'

export interface Timing {
  ms: number
  fastest: number
  slowest: number
}

/** Their answers are compared first, which warms them up too. Within: by how much the sums may differ. */
export async function inTurns(contenders: Contender[], rounds: number, expected: number, within = 1e-9) {
  let agreed: Found | undefined
  for (const { name, ask, found } of contenders) {
    const answer = found((await ask(true)).text)
    if (answer.count !== expected) throw new Error(`${name} answered ${answer.count} instead of ${expected} points`)
    agreed ??= answer
    if (Math.abs(answer.sum / agreed.sum - 1) > within)
      throw new Error(`the values of ${name} come to ${answer.sum} instead of ${agreed.sum}`)
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

const lookEveryMs = 10

/** Of a process while something is done. */
export async function watched(pid: number, work: () => Promise<unknown>): Promise<Memory> {
  const beforeMb = rssMb(pid)
  let peakMb = beforeMb
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, rssMb(pid))
  }, lookEveryMs)
  try {
    await work()
  } finally {
    clearInterval(look)
  }
  const afterMb = rssMb(pid)
  return { beforeMb, peakMb: Math.max(peakMb, afterMb), afterMb }
}
