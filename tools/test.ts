/**
 * The test command: makes sure of the tools that npm lacks, starts one PostgreSQL for all files, runs them, stops it.
 * `npm test` runs everything; `npm test -- src/kernel` what lies below a path. At the end it names the slowest files.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import {
  sharedDirectoryVariable,
  sharedServerVariable,
  startTestServer,
  throwAwayDirectory,
} from '../test/harness/database.ts'
import { treeCpuSeconds } from '../test/harness/processes.ts'
import { pythonWith } from '../test/harness/python.ts'
import { readTimings, type Timing } from '../test/harness/timings.ts'

/** What comes from Debian: package → how to see that it is there. */
const tools = {
  bsdutils: 'command -v script',
  chromium: 'command -v chromium',
  curl: 'command -v curl',
  'mosquitto-clients': 'command -v mosquitto_pub && command -v mosquitto_sub',
  'python3-paho-mqtt': pythonWith('paho.mqtt.client'),
}

function ensureTools() {
  const missing = Object.entries(tools).filter(([, check]) => !holds(check))
  if (missing.length === 0) return
  const packages = missing.map(([name]) => name).join(' ')
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages}`
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    console.error(`Installing ${packages}…`)
    const { status } = spawnSync('sh', ['-c', install], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status === 0 && missing.every(([, check]) => holds(check))) return
  }
  console.error(`The tests need ${packages}. On Debian, run as root:\n\n  ${install}\n`)
  process.exit(1)
}

const holds = (check: string) => spawnSync('sh', ['-c', check]).status === 0

/** One more than there are cores: most tests wait for a database or a timer now and then. */
const concurrency = availableParallelism() + 1

/** Those that watch the memory of their process. */
const alone = ['src/kernel/backup/load.test.ts']

const timingsFile = 'node_modules/.cache/waypost-tests/seconds.json'

/** How long each file took in a run before; a journey is thought to be long until it is known. */
function knownSeconds(): (file: string) => number {
  const known = existsSync(timingsFile) ? (JSON.parse(readFileSync(timingsFile, 'utf8')) as Record<string, number>) : {}
  return (file) => known[file] ?? (file.startsWith('test/') ? 30 : 1)
}

function keepSeconds(timings: Timing[]) {
  const known = existsSync(timingsFile) ? JSON.parse(readFileSync(timingsFile, 'utf8')) : {}
  for (const { file, seconds } of timings) known[file] = Math.round(seconds * 10) / 10
  mkdirSync(dirname(timingsFile), { recursive: true })
  writeFileSync(timingsFile, JSON.stringify(known))
}

/**
 * Files below test/ start programs and have a process each, the longest first. The others share a few processes, because
 * what they import takes a second to read: each process takes the next file from one list until none is left.
 */
function processesFor(files: string[], directory: string): string[] {
  const seconds = knownSeconds()
  const longestFirst = files.toSorted((a, b) => seconds(b) - seconds(a))
  const single = longestFirst.filter((file) => file.startsWith('test/') || alone.includes(file))
  const shared = longestFirst.filter((file) => !single.includes(file))
  writeFileSync(join(directory, 'files.json'), JSON.stringify(shared))
  const harness = pathToFileURL(resolve('test/harness/together.ts')).href
  const workers = Array.from({ length: Math.min(concurrency - 1, shared.length) }, (_, n) => {
    const path = join(directory, `together-${n}.mjs`)
    writeFileSync(path, `import { together } from '${harness}'\nawait together()\n`)
    return path
  })
  return [...workers, ...single]
}

function report(timings: Timing[], files: string[], databaseSeconds: number) {
  const all = (of: (timing: Timing) => number) => timings.reduce((sum, timing) => sum + of(timing), 0)
  const text = (seconds: number) => `${seconds.toFixed(1)} s`.padStart(9)
  console.log('\nThe slowest files: seconds, and processor seconds with the programs that they start')
  for (const { file, seconds, cpu, children } of timings.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10))
    console.log(`${text(seconds)} ${text(cpu + children)}  ${file}`)
  const cpu = all(({ cpu }) => cpu)
  const children = all(({ children }) => children)
  console.log(
    `${text(performance.now() / 1000)} ${text(cpu + children + databaseSeconds)}  in all: ${cpu.toFixed(0)} s tests, ` +
      `${children.toFixed(0)} s programs, ${databaseSeconds.toFixed(0)} s PostgreSQL; load ${loadavg()[0]!.toFixed(1)}`,
  )
  const noted = new Set(timings.map(({ file }) => file))
  return files.filter((file) => !noted.has(file))
}

const places = process.argv.slice(2)
const files = globSync('{src,test,tools}/**/*.test.ts')
  .filter((file) => places.length === 0 || places.some((place) => file.startsWith(place.replace(/^\.\//, ''))))
  .sort()
if (files.length === 0) {
  console.error(`No tests below ${places.join(', ')}`)
  process.exit(1)
}

ensureTools()
const directory = throwAwayDirectory('waypost-tests-')
const postgres = await startTestServer(join(directory, 'postgres'))
const { connection, administration } = postgres
Object.assign(process.env, {
  // What one process has compiled the others need not.
  NODE_COMPILE_CACHE: resolve('node_modules/.cache/waypost-tests'),
  [sharedServerVariable]: JSON.stringify({ connection, administration }),
  [sharedDirectoryVariable]: directory,
})
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort())
let failed = false
const tests = run({
  files: processesFor(files, directory).map((file) => resolve(file)),
  concurrency,
  timeout: 240_000,
  signal: stopped.signal,
})
tests.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) failed = true
})
await new Promise((done) => tests.compose(new spec()).on('end', done).pipe(process.stdout))
const timings = readTimings(directory)
const unfinished = report(timings, files, treeCpuSeconds(postgres.pids()[0]!))
if (unfinished.length > 0) console.error(`Not finished: ${unfinished.join(', ')}`)
keepSeconds(timings)
await postgres.stop()
rmSync(directory, { recursive: true, force: true })
process.exit(failed || unfinished.length > 0 ? 1 : 0)
