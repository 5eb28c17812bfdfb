/** Runs test files, the longest first, in as many processes as the machine has cores and one more; names those that fail. */
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { filesIn, readRunning, readTimings, sharedDirectoryVariable, type Timing } from '../test/harness/timings.ts'

export interface TestRun {
  /** Absolute paths. */
  files: string[]
  /** Holds what the processes of the run share. */
  directory: string
  /** Files that have a process each; the others share a few. */
  alone(file: string): boolean
  /** How long a file takes, as far as it is known. */
  seconds(file: string): number
  /** A process whose file takes longer is killed. */
  fileSecondsMax: number
  testSecondsMax: number
  environment?: Record<string, string>
  signal?: AbortSignal
}

export interface TestRunResult {
  failed: boolean
  /** Files that did not come to their end: crashed, killed or never begun. */
  unfinished: string[]
  timings: Timing[]
}

/** One more than there are cores: most tests wait for a database or a timer now and then. */
const concurrency = availableParallelism() + 1

const harness = (file: string) => pathToFileURL(resolve(import.meta.dirname, '../test/harness', file)).href

export async function runTests(options: TestRun): Promise<TestRunResult> {
  const { directory } = options
  Object.assign(process.env, options.environment, { [sharedDirectoryVariable]: directory })
  let failed = false
  const tests = run({
    files: processesFor(options),
    concurrency,
    timeout: options.testSecondsMax * 1000,
    execArgv: ['--import', harness('timings.ts')],
    ...(options.signal && { signal: options.signal }),
  })
  tests.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) failed = true
  })
  const watch = setInterval(() => killOverdue(directory, options.fileSecondsMax), 500)
  await new Promise((done) => tests.compose(new spec()).on('end', done).pipe(process.stdout))
  clearInterval(watch)
  const timings = readTimings(directory)
  const finished = new Set(timings.map(({ file }) => file))
  return { failed, timings, unfinished: options.files.filter((file) => !finished.has(file)) }
}

/**
 * Files of the second kind share a few processes, because what they import takes a second to read: each process takes the
 * next file from one list until none is left.
 */
function processesFor({ files, directory, alone, seconds }: TestRun): string[] {
  const longestFirst = files.toSorted((a, b) => seconds(b) - seconds(a))
  const single = longestFirst.filter(alone)
  const shared = longestFirst.filter((file) => !alone(file))
  writeFileSync(filesIn(directory), JSON.stringify(shared))
  const workers = Array.from({ length: Math.min(concurrency - 1, shared.length) }, (_, n) => {
    const path = join(directory, `together-${n}.mjs`)
    writeFileSync(path, `import { together } from '${harness('together.ts')}'\nawait together()\n`)
    return path
  })
  return [...workers, ...single]
}

/** The limit of a test ends no file that blocks its event loop, waits while it is loaded or leaves a handle open. */
function killOverdue(directory: string, secondsMax: number) {
  for (const { pid, file, since } of readRunning(directory)) {
    if (Date.now() - since < secondsMax * 1000) continue
    try {
      process.kill(pid, 'SIGKILL')
      console.error(`Killed after ${secondsMax} s: ${file}`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
