/**
 * The test command: makes sure of the tools that npm lacks, starts one PostgreSQL for all files, runs them, stops it.
 * `npm test` runs everything; `npm test -- src/kernel` what lies below a path.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  sharedDirectoryVariable,
  sharedServerVariable,
  startTestServer,
  throwAwayDirectory,
} from '../test/harness/database.ts'
import { pythonWith } from '../test/harness/python.ts'

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

/** Those that watch the memory of their process. */
const alone = ['src/kernel/backup/load.test.ts']

/** Journeys and faults start programs and have a process each, first of all because they take longest; the others share. */
function processes(files: string[], directory: string): string[] {
  const single = files.filter((file) => file.startsWith('test/') || alone.includes(file))
  const rest = files.filter((file) => !single.includes(file))
  const count = Math.ceil(rest.length / 10)
  const groups = Array.from({ length: count }, (_, n) => {
    // Neighbours import the same things.
    const group = rest.slice(Math.floor((n * rest.length) / count), Math.floor(((n + 1) * rest.length) / count))
    const path = join(directory, `together-${n}.mjs`)
    const harness = pathToFileURL(resolve('test/harness/together.ts')).href
    writeFileSync(path, `import { together } from '${harness}'\nawait together(${JSON.stringify(group)})\n`)
    return path
  })
  return [...single, ...groups]
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
const child = spawn(
  process.execPath,
  ['--test', '--test-concurrency=3', '--test-timeout=240000', ...processes(files, directory)],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      // Every file is a process: what one has compiled the others need not.
      NODE_COMPILE_CACHE: 'node_modules/.cache/waypost-tests',
      [sharedServerVariable]: JSON.stringify({ connection, administration }),
      [sharedDirectoryVariable]: directory,
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? 1)))
await postgres.stop()
rmSync(directory, { recursive: true, force: true })
process.exit(code)
