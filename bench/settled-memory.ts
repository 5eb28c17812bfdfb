/** Measures the memory of a started platform without garbage, so that two measurements can be compared. */
import { join } from 'node:path'
import { sleep } from '../src/kernel/clock.ts'
import { memoryMb } from '../test/harness/processes.ts'
import type { StartedPlatform } from './platform.ts'

/** Environment of a platform whose memory is measured: SIGUSR2 then collects garbage. */
export const withGarbageCollection = { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'collect-garbage.ts')}` }

/**
 * Pause before the garbage collections. V8 shrinks its space for new objects only if the process has allocated little in the five seconds
 * before the collection. Without this pause, up to 64 MB of garbage would count as memory of the last work.
 */
const idleMs = 6000

/** Returns the memory of an idle process (PSS) after several garbage collections. The process needs `withGarbageCollection`. */
export async function settledMemoryMb(pid: number): Promise<number> {
  await sleep(idleMs)
  await collectGarbage(pid)
  return memoryMb([pid])
}

/**
 * Returns the memory that JavaScript uses, inside and outside of its heap, after several garbage collections. Unlike the memory of the
 * process, it does not contain pages that V8 keeps from earlier work.
 */
export async function settledHeapKb({ pid, managementUrl }: StartedPlatform): Promise<number> {
  await collectGarbage(pid)
  const text = await (await fetch(`${managementUrl}/metrics`)).text()
  const bytes = ['heap_size_used_bytes', 'external_memory_bytes'].map((name) =>
    Number(text.match(new RegExp(`^waypost_nodejs_${name} (\\S+)`, 'm'))?.[1]),
  )
  return (bytes[0]! + bytes[1]!) / 1024
}

async function collectGarbage(pid: number) {
  for (let n = 0; n < 3; n++) {
    process.kill(pid, 'SIGUSR2')
    await sleep(700)
  }
}
