/** Reads memory and CPU time of process trees from /proc, and builds the environment of worker processes. */
import { readdirSync, readFileSync } from 'node:fs'

const read = (path: string) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process has ended
  }
}

const parentOf = (pid: number) => Number(read(`/proc/${pid}/stat`).match(/\) \S (\d+)/)?.[1])

export function processTree(root: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(Number(name)) }))
  const found = [root]
  for (const pid of found) found.push(...parents.filter(({ parent }) => parent === pid).map((entry) => entry.pid))
  return found
}

/** Returns the sum of the proportional set sizes of the processes. This sum counts a page that several processes share only once. */
export const memoryMb = (pids: number[]) =>
  pids.reduce((sum, pid) => sum + Number(read(`/proc/${pid}/smaps_rollup`).match(/^Pss:\s+(\d+)/m)?.[1] ?? 0), 0) / 1024

const ticksPerSecond = 100

export function cpuSeconds(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond
}

/** Returns whether the process exists and is not a zombie. */
export const isAlive = (pid: number) => /\) [^ZX] /.test(read(`/proc/${pid}/stat`))

export const nameOf = (pid: number) => read(`/proc/${pid}/comm`).trim()

/** Returns the CPU time of a process tree, including children that have ended. */
export const treeCpuSeconds = (root: number) =>
  processTree(root).reduce((sum, pid) => {
    const fields = read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? []
    return sum + fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / ticksPerSecond
  }, 0)

/**
 * Returns the environment for a process that is not a test. It has no variables of the test runner, except the cache of compiled code.
 */
export const environmentOfWorker = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_') || name === 'NODE_COMPILE_CACHE'),
  )
