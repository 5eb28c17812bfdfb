/**
 * The test command. Checks the tools that npm does not install, starts one PostgreSQL for all test files, and runs the files. `npm test`
 * runs the short tests, `npm run test:long` the long tests, and `npm test -- src/kernel` all tests below a path. At the end it lists the
 * slowest files (with `--costs` all files) and short files that have become long.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { sharedServerVariable, startTestServer, temporaryDirectory } from '../test/harness/database.ts'
import { programVariable } from '../test/harness/platform.ts'
import { treeCpuSeconds } from '../test/harness/processes.ts'
import { pythonWith } from '../test/harness/python.ts'
import type { Timing } from '../test/harness/timings.ts'
import { buildConsole } from './console-build.ts'
import { bundleProgram } from './program-bundle.ts'
import { runTests } from './run-tests.ts'

/** Debian packages that the tests need, with the command that checks each. */
const tools = {
  bsdutils: 'command -v script',
  chromium: 'command -v chromium',
  curl: 'command -v curl',
  fish: 'command -v fish',
  mosquitto: 'PATH=$PATH:/usr/sbin command -v mosquitto',
  iproute2: 'PATH=$PATH:/usr/sbin command -v ip',
  'mosquitto-clients': 'command -v mosquitto_pub && command -v mosquitto_sub',
  nftables: 'PATH=$PATH:/usr/sbin command -v nft',
  openvpn: 'PATH=$PATH:/usr/sbin command -v openvpn',
  'python3-paho-mqtt': pythonWith('paho.mqtt.client'),
  zsh: 'command -v zsh',
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

/** Tests that need a process of their own, because they measure the memory of their process. */
const alone = ['src/kernel/backup/load.long.test.ts']

/** Files of `test/` need a process of their own, except the short files of `conformance`, which start no programs. */
const needsOwnProcess = (file: string) =>
  alone.includes(file) || (file.startsWith('test/') && (isLong(file) || !file.startsWith('test/conformance/')))

/**
 * Folders of long tests: `kill -9` in rounds, first starts, backups, the console in a browser. Elsewhere the name of a long test ends with
 * `.long.test.ts`. `npm test` leaves out long tests, so that it takes only a few minutes. Continuous integration runs them too.
 */
const longFolders = ['test/faults/', 'test/long/', 'test/console/']

/** Processor seconds above which a file must be named as a long test. The limit allows for variations on a busy machine. */
const shortSecondsMax = 6

/** Durations of long files on two cores, used for their order only; written by `npm test -- --keep-seconds`. */
const secondsFile = 'tools/test-seconds.json'
const longSeconds = 2

function knownSeconds(): (file: string) => number {
  const known = JSON.parse(readFileSync(secondsFile, 'utf8')) as Record<string, number>
  // A new file in `test/` probably takes long, so it must not be the last file that starts.
  return (file) => known[relative(root, file)] ?? (relative(root, file).startsWith('test/') ? 40 : 1)
}

function keepSeconds(timings: Timing[]) {
  const long = timings.filter(({ seconds }) => seconds >= longSeconds).toSorted((a, b) => b.seconds - a.seconds)
  const ran = new Set(timings.map(({ file }) => relative(root, file)))
  const before = JSON.parse(readFileSync(secondsFile, 'utf8')) as Record<string, number>
  const others = Object.entries(before).filter(([file]) => !ran.has(file) && existsSync(file))
  const measured = long.map(({ file, seconds }) => [relative(root, file), Math.round(seconds)] as const)
  writeFileSync(secondsFile, `${JSON.stringify(Object.fromEntries([...measured, ...others]), null, 2)}\n`)
}

/**
 * Prints the names of files that have become long. Files in `test/` are left out: they have a process of their own and therefore cost more.
 */
function reportBecameLong(timings: Timing[]) {
  for (const { file, cpu, children } of timings) {
    const name = relative(root, file)
    if (isLong(name) || name.startsWith('test/') || cpu + children <= shortSecondsMax) continue
    console.log(`More than ${shortSecondsMax} processor seconds; make it cheaper or call it .long.test.ts: ${name}`)
  }
}

function report(timings: Timing[], databaseSeconds: number) {
  const all = (secondsOf: (timing: Timing) => number) => timings.reduce((sum, timing) => sum + secondsOf(timing), 0)
  const text = (seconds: number) => `${seconds.toFixed(1)} s`.padStart(9)
  const shown = options.includes('--costs')
    ? timings.toSorted((a, b) => b.cpu + b.children - a.cpu - a.children)
    : timings.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10)
  console.log('\nThe slowest files: seconds, and processor seconds of the tests and of the programs that they start')
  for (const { file, seconds, cpu, children } of shown)
    console.log(`${text(seconds)} ${text(cpu)} ${text(children)}  ${relative(root, file)}`)
  reportBecameLong(timings)
  const cpu = all(({ cpu }) => cpu)
  const children = all(({ children }) => children)
  console.log(
    `${text(performance.now() / 1000)} ${text(cpu + children + databaseSeconds)}  in all: ${cpu.toFixed(0)} s tests, ` +
      `${children.toFixed(0)} s programs, ${databaseSeconds.toFixed(0)} s PostgreSQL; load ${loadavg()[0]!.toFixed(1)}`,
  )
}

const root = process.cwd()
const options = process.argv.slice(2)
const givenPaths = options.filter((option) => !option.startsWith('--')).map((path) => path.replace(/^\.\//, ''))
const isBelow = (file: string, paths: string[]) => paths.some((path) => file.startsWith(path))
const isLong = (file: string) => isBelow(file, longFolders) || file.endsWith('.long.test.ts')
const files = globSync('{sdk,src,test,tools}/**/*.test.ts')
  .filter((file) => (givenPaths.length === 0 ? isLong(file) === options.includes('--long') : isBelow(file, givenPaths)))
  .map((file) => resolve(file))
if (files.length === 0) {
  console.error(`There are no tests below ${givenPaths.join(', ')}`)
  process.exit(1)
}

ensureTools()
// With --sources, stack traces of the program show positions in the sources.
const isBundled = !options.includes('--sources') && files.some((file) => relative(root, file).startsWith('test/'))
const program = isBundled ? await bundleProgram() : undefined
// The console is built once before the tests, so that no platform has to build it.
if (files.some((file) => relative(root, file).startsWith('test/'))) await buildConsole()
const directory = temporaryDirectory('waypost-tests-')
const postgres = await startTestServer(join(directory, 'postgres'))
const { connection, administration } = postgres
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort())
const { failed, unfinished, unstable, timings } = await runTests({
  files,
  directory,
  alone: (file) => needsOwnProcess(relative(root, file)),
  seconds: knownSeconds(),
  fileSecondsMax: 1000,
  testSecondsMax: 900,
  environment: {
    // All processes share one cache of compiled code.
    NODE_COMPILE_CACHE: resolve('node_modules/.cache/waypost-tests'),
    ...(program && { [programVariable]: program }),
    [sharedServerVariable]: JSON.stringify({ connection, administration }),
  },
  signal: stopped.signal,
})
report(timings, treeCpuSeconds(postgres.pids()[0]!))
for (const file of unfinished) console.error(`Not finished: ${relative(root, file)}`)
for (const file of unstable) console.error(`Unstable, failed and then passed: ${relative(root, file)}`)
if (options.includes('--keep-seconds')) keepSeconds(timings)
await postgres.stop()
rmSync(directory, { recursive: true, force: true })
process.exit(failed || unfinished.length > 0 ? 1 : 0)
