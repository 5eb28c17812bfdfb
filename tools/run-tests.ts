/** Runs test files, the longest first, with three processes more than the machine has cores. Names the files that fail. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { processTree } from '../test/harness/processes.ts'
import {
  readRunning,
  readTimings,
  removeRunning,
  sharedDirectoryVariable,
  sharedFilesPath,
  startTimeOf,
  type Timing,
} from '../test/harness/timings.ts'

export interface TestRun {
  /** Absolute paths of the test files. */
  files: string[]
  /** Directory for files that the processes of the run share. */
  directory: string
  /** Returns true for files that need a process of their own. All other files share a few processes. */
  alone(file: string): boolean
  /** Returns how long a file takes, if known. */
  seconds(file: string): number
  /** If a file takes longer, its process is killed. */
  fileSecondsMax: number
  testSecondsMax: number
  environment?: Record<string, string>
  signal?: AbortSignal
}

export interface TestRunResult {
  failed: boolean
  /** Files with a failed test. */
  failedFiles: string[]
  /** Files that failed at first and passed when they ran again alone. */
  unstable: string[]
  /** Files that did not finish: crashed, killed or never started. */
  unfinished: string[]
  timings: Timing[]
}

/** Number of processes: three more than cores, because most tests sometimes wait for a database, a program or a timer. */
const concurrency = availableParallelism() + 3

const fastResolution = pathToFileURL(resolve(import.meta.dirname, '../bin/resolve.mjs')).href
const harness = (file: string) => pathToFileURL(resolve(import.meta.dirname, '../test/harness', file)).href

/** Modules that each test process loads first, in this order. */
const preloaded = [fastResolution, harness('test-context.ts'), harness('timings.ts')]

/** If more files than this number fail, no file runs again, because a second run would fail for the same cause. */
const rerunFilesMax = 5

/**
 * Runs the files. Files whose tests fail run once more, each in its own process, because a busy machine can disturb a test. A file that
 * passes in the second run is reported as unstable. Files that do not finish are not run again.
 */
export async function runTests(options: TestRun): Promise<TestRunResult> {
  const first = await runOnce(options)
  const { failedFiles, unfinished } = first
  const isKnown = failedFiles.every((file) => options.files.includes(file))
  if (!first.failed || unfinished.length > 0 || !isKnown || failedFiles.length > rerunFilesMax) return first
  console.error(`Failed, and run again: ${failedFiles.join(', ')}`)
  const directory = join(options.directory, 'again')
  mkdirSync(directory, { recursive: true })
  const second = await runOnce({ ...options, directory, files: failedFiles, alone: () => true })
  const unstable = failedFiles.filter((file) => !second.failedFiles.includes(file))
  return { ...second, timings: [...first.timings, ...second.timings], unstable }
}

async function runOnce(options: TestRun): Promise<TestRunResult> {
  const { directory } = options
  Object.assign(process.env, options.environment, { [sharedDirectoryVariable]: directory })
  let failed = false
  const failedFiles = new Set<string>()
  const tests = run({
    files: processesFor(options),
    concurrency,
    timeout: options.testSecondsMax * 1000,
    // A larger young generation saves a tenth of the processor time of the run, because garbage is collected less often.
    execArgv: ['--max-semi-space-size=64', ...preloaded.flatMap((module) => ['--import', module])],
    ...(options.signal && { signal: options.signal }),
  })
  tests.on('test:fail', ({ todo, file }) => {
    if (todo !== undefined && todo !== false) return
    failed = true
    failedFiles.add(file ?? 'a test without a file')
  })
  const watch = setInterval(() => killOverdue(directory, options.fileSecondsMax), 500)
  await new Promise((done) => tests.compose(new spec()).on('end', done).pipe(process.stdout))
  clearInterval(watch)
  const timings = readTimings(directory)
  const finished = new Set(timings.map(({ file }) => file))
  const unfinished = options.files.filter((file) => !finished.has(file))
  return { failed, failedFiles: [...failedFiles], unstable: [], timings, unfinished }
}

/**
 * Returns the scripts to run. Files that need no process of their own share a few processes, because loading their imports takes a second.
 * Each process takes the next file from a list until the list is empty.
 */
function processesFor({ files, directory, alone, seconds }: TestRun): string[] {
  const longestFirst = files.toSorted((a, b) => seconds(b) - seconds(a))
  const single = longestFirst.filter(alone)
  const shared = longestFirst.filter((file) => !alone(file))
  writeFileSync(sharedFilesPath(directory), JSON.stringify(shared))
  const workers = Array.from({ length: Math.min(concurrency, shared.length) }, (_, n) => {
    const path = join(directory, `shared-${n}.mjs`)
    writeFileSync(path, `import { runSharedFiles } from '${harness('shared-process.ts')}'\nawait runSharedFiles()\n`)
    return path
  })
  // At first, two processes run single files, which often wait for the programs that they start; all other processes run shared files. When
  // the single files have ended, further processes run shared files, so that no core is idle.
  const beside = Math.max(concurrency - Math.min(single.length, 2), 1)
  return [...workers.slice(0, beside), ...single, ...workers.slice(beside)]
}

/**
 * Kills processes that the time limit of tests cannot end, because of a blocked event loop, a wait while loading, or an open handle. The
 * entry of a killed process is removed, because its pid may soon belong to another program, such as a PostgreSQL server.
 */
function killOverdue(directory: string, secondsMax: number) {
  for (const running of readRunning(directory)) {
    const { pid, startTime, file, since } = running
    if (Date.now() - since < secondsMax * 1000) continue
    removeRunning(directory, running)
    if (startTimeOf(pid) !== startTime) continue
    console.error(`Killed after ${secondsMax} s: ${file}`)
    // The descendants of the process are also killed, because they would slow down other tests. Parents are killed before their children,
    // so that they cannot start further processes.
    for (const descendant of processTree(pid)) kill(descendant)
  }
}

function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
