/**
 * The runner (tools/run-tests.ts) preloads this module into every test process. It records which file the process runs, so that the runner
 * can stop a file that takes too long. It also records the time of each finished file.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after } from 'node:test'

/** Environment variable set by the runner: a directory for files that are created once per run. */
export const sharedDirectoryVariable = 'TEST_DIRECTORY'

export interface Timing {
  file: string
  seconds: number
  /** CPU time of the process. `children` is the CPU time of the programs that the process started and that have ended. */
  cpu: number
  children: number
}

/** The file that a process runs now. */
export interface Running {
  pid: number
  /** Distinguishes this process from a later process with the same pid. */
  startTime: string | undefined
  file: string
  since: number
}

const ticksPerSecond = 100

/** Returns the start time of a process in clock ticks; undefined if it does not exist, and on systems without /proc. */
export function startTimeOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19]
  } catch {
    return undefined
  }
}

/** Returns the CPU time of ended child processes; zero on systems without /proc. */
function childrenSeconds(): number {
  if (!existsSync('/proc/self/stat')) return 0
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
}

function now() {
  const { user, system } = process.cpuUsage()
  return { seconds: performance.now() / 1000, cpu: (user + system) / 1e6, children: childrenSeconds() }
}

type Moment = ReturnType<typeof now>

let since: Moment = { seconds: 0, cpu: 0, children: 0 }
let running: { directory: string; file: string } | undefined

/** Path of the file that lists the tests which run in shared processes (shared-process.ts). */
export const sharedFilesPath = (directory: string) => join(directory, 'files.json')
const timingsIn = (directory: string) => join(directory, 'timings.jsonl')
const runningIn = (directory: string) => join(directory, 'running')
const entryIn = (directory: string, pid = process.pid) => join(runningIn(directory), `${pid}.json`)

export function fileStarted(directory: string, file: string) {
  running = { directory, file }
  writeRunning(directory, file)
}

function writeRunning(directory: string, file: string) {
  mkdirSync(runningIn(directory), { recursive: true })
  const entry: Running = { pid: process.pid, startTime: startTimeOf(process.pid), file, since: Date.now() }
  writeFileSync(entryIn(directory), JSON.stringify(entry))
}

/** Records the timing of the current file. Only a finished file has a timing; the runner fails if a timing is missing. */
export function fileFinished() {
  if (!running) return
  const until = now()
  const timing: Timing = {
    file: running.file,
    seconds: until.seconds - since.seconds,
    cpu: until.cpu - since.cpu,
    children: until.children - since.children,
  }
  appendFileSync(timingsIn(running.directory), `${JSON.stringify(timing)}\n`)
  since = until
  writeRunning(running.directory, `process still running after ${running.file}`)
}

export function readTimings(directory: string): Timing[] {
  if (!existsSync(timingsIn(directory))) return []
  return readFileSync(timingsIn(directory), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Timing)
}

/** Returns the current file of each process. */
export function readRunning(directory: string): Running[] {
  if (!existsSync(runningIn(directory))) return []
  return readdirSync(runningIn(directory)).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(runningIn(directory), name), 'utf8')) as Running]
    } catch {
      return [] // another process is writing or removing the entry
    }
  })
}

export const removeRunning = (directory: string, { pid }: Running) => rmSync(entryIn(directory, pid), { force: true })

/** Records a test file that has a process of its own. The file is finished when the process exits after its tests have ended. */
function watchSingleFile(directory: string, file: string) {
  fileStarted(directory, file)
  let complete = false
  after(() => {
    complete = true
  })
  process.on('exit', () => {
    if (complete) fileFinished()
  })
}

const directory = process.env[sharedDirectoryVariable]
const single = process.argv[1]
if (process.env.NODE_TEST_CONTEXT && directory && single?.endsWith('.test.ts'))
  watchSingleFile(directory, resolve(single))
// The entry is removed, because another process may get the same process id later.
process.on('exit', () => running && rmSync(entryIn(running.directory), { force: true }))
