/** What each test file takes, noted for the runner (tools/test.ts): time that passed, and processor time with ended children. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Timing {
  file: string
  seconds: number
  /** Of the process itself, and of programs that it started and that have ended. */
  cpu: number
  children: number
}

const ticksPerSecond = 100

/** Of this process's ended children and theirs; only Linux tells. */
function childrenSeconds(): number {
  if (!existsSync('/proc/self/stat')) return 0
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
}

function now() {
  const { user, system } = process.cpuUsage()
  return { seconds: performance.now() / 1000, cpu: (user + system) / 1e6, children: childrenSeconds() }
}

export type Moment = ReturnType<typeof now>

/** Since the process began, where a file is alone in it. */
export const beginning: Moment = { seconds: 0, cpu: 0, children: 0 }

export const moment = now

const fileIn = (directory: string) => join(directory, 'timings.jsonl')

export function noteTiming(directory: string, file: string, since: Moment) {
  const until = now()
  const timing: Timing = {
    file,
    seconds: until.seconds - since.seconds,
    cpu: until.cpu - since.cpu,
    children: until.children - since.children,
  }
  appendFileSync(fileIn(directory), `${JSON.stringify(timing)}\n`)
}

export function readTimings(directory: string): Timing[] {
  if (!existsSync(fileIn(directory))) return []
  return readFileSync(fileIn(directory), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Timing)
}
