import { sleep } from '../src/kernel/clock.ts'
import { removeDirectory, startPlatform, temporaryDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

/** Seconds from the time when the platform is ready to the measurement of idle memory. */
const idleSeconds = 20

/**
 * Measures a start on an empty directory, a start on an existing directory, a stop, and idle memory after each start. Each figure is the
 * median of three runs.
 */
export async function starting(): Promise<Figure[]> {
  const cold: number[] = []
  const warm: number[] = []
  const memory = { cold: [] as number[], warm: [] as number[] }
  const stopping: number[] = []
  for (let round = 0; round < 3; round++) {
    const directory = temporaryDirectory()
    const first = await startPlatform(directory)
    cold.push(first.readySeconds)
    await sleep(idleSeconds * 1000)
    memory.cold.push(first.memoryMb())
    await first.stop()
    const second = await startPlatform(directory)
    warm.push(second.readySeconds)
    await sleep(idleSeconds * 1000)
    memory.warm.push(second.memoryMb())
    const { seconds, code } = await second.stop()
    if (code !== 0) throw new Error(`the platform exited with code ${code} after SIGTERM`)
    stopping.push(seconds)
    removeDirectory(directory)
  }
  return [
    { name: 'Start on an empty directory', value: median(cold), unit: 's', limit: { max: 4 } },
    { name: 'Warm start', value: median(warm), unit: 's', limit: { max: 2 } },
    {
      name: `Idle memory ${idleSeconds} s after a first start, all processes (PSS)`,
      value: median(memory.cold),
      unit: 'MB',
      limit: { max: 200 },
    },
    {
      name: `Idle memory ${idleSeconds} s after a warm start, all processes (PSS)`,
      value: median(memory.warm),
      unit: 'MB',
      limit: { max: 200 },
    },
    { name: 'Stop after SIGTERM', value: median(stopping), unit: 's', limit: { max: 10 } },
  ]
}
