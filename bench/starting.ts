import { sleep } from '../src/kernel/clock.ts'
import { removeDirectory, startPlatform, temporaryDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

/** Measures start on an empty directory, warm start, stop and idle memory: medians of five. */
export async function starting(): Promise<Figure[]> {
  const cold: number[] = []
  const warm: number[] = []
  const memory: number[] = []
  const stopping: number[] = []
  for (let round = 0; round < 5; round++) {
    const directory = temporaryDirectory()
    const first = await startPlatform(directory)
    cold.push(first.readySeconds)
    await first.stop()
    const second = await startPlatform(directory)
    warm.push(second.readySeconds)
    await sleep(5000)
    memory.push(second.memoryMb())
    const { seconds, code } = await second.stop()
    if (code !== 0) throw new Error(`SIGTERM ended with ${code}`)
    stopping.push(seconds)
    removeDirectory(directory)
  }
  return [
    { name: 'Start on an empty directory', value: median(cold), unit: 's', limit: { max: 4 } },
    { name: 'Warm start', value: median(warm), unit: 's', limit: { max: 2 } },
    { name: 'Idle memory, all processes (PSS)', value: median(memory), unit: 'MB', limit: { max: 250 } },
    { name: 'Stop after SIGTERM', value: median(stopping), unit: 's', limit: { max: 10 } },
  ]
}
