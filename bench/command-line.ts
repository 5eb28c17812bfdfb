/** Measures how long commands of the command line take, and how much memory a long list needs. */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { memoryMb, processTree } from '../test/harness/processes.ts'
import { runParts } from './parts.ts'
import { type BenchPlatform, openBenchPlatform, root } from './register/bench-platform.ts'
import { fill, idOf } from './register/endpoints.ts'
import { type Figure, median } from './report.ts'

const program = resolve(import.meta.dirname, '../bin/waypost')
const rounds = Number(process.env.BENCH_ROUNDS ?? 15)
const endpointCount = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)
const memoryEveryMs = 200
const newline = 10

type Environment = Record<string, string>

interface Outcome {
  milliseconds: number
  lines: number
  /** Maximum memory of the command and its child processes (PSS). */
  memoryMb: number
}

/** Runs a command as a user with an API key does. */
async function run(environment: Environment, words: string[], { watchMemory = false } = {}): Promise<Outcome> {
  const began = performance.now()
  const child = spawn(program, words, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] })
  let lines = 0
  child.stdout.on('data', (bytes: Buffer) => {
    for (const byte of bytes) if (byte === newline) lines++
  })
  let highest = 0
  const watch = setInterval(() => {
    if (watchMemory) highest = Math.max(highest, memoryMb(processTree(child.pid!)))
  }, memoryEveryMs)
  const code = await new Promise<number | null>((done) => child.on('close', done))
  clearInterval(watch)
  if (code !== 0) throw new Error(`waypost ${words.join(' ')} ended with ${code}`)
  return { milliseconds: performance.now() - began, lines, memoryMb: highest }
}

async function apiKeyOf({ ask }: BenchPlatform): Promise<string> {
  const createdKey = await ask('POST /iam/api/v1/api-keys', { name: 'bench' })
  if (createdKey.status !== 201) throw new Error(`${createdKey.status} ${createdKey.text}`)
  return createdKey.body.key
}

/** Measures the commands alternately, so that the load of the machine is the same for all commands. */
async function durations(platform: BenchPlatform, environment: Environment): Promise<Figure[]> {
  const path = `/epr/api/v1/endpoints/${idOf(1)}`
  const request = async () => {
    const began = performance.now()
    const answer = await platform.ask(`GET ${path}`)
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    return performance.now() - began
  }
  const get = ['endpoints', 'get', idOf(1)]
  await run(environment, get)
  const times = { help: [] as number[], get: [] as number[], request: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.help.push((await run(environment, ['help'])).milliseconds)
    times.get.push((await run(environment, get)).milliseconds)
    times.request.push(await request())
  }
  const help = median(times.help)
  return [
    { name: 'waypost help', value: help, unit: 'ms' },
    { name: 'waypost endpoints get', value: median(times.get), unit: 'ms' },
    {
      name: 'waypost endpoints get against waypost help and a request',
      value: median(times.get) / (help + median(times.request)),
      unit: 'times',
      limit: { max: 1.3 },
    },
  ]
}

const pageSize = 1000

/** Reads the list of all endpoints with `fetch`, in sequential pages of the maximum size. Returns the number of endpoints per second. */
async function barePages({ WAYPOST_URL: url, WAYPOST_API_KEY: key }: Environment): Promise<number> {
  const began = performance.now()
  let read = 0
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const answer = await fetch(`${url}${root}/endpoints?limit=${pageSize}&cursor=${cursor}`, {
      headers: { 'x-identity-api-key': key! },
    })
    const page = (await answer.json()) as { content: unknown[]; nextCursor?: string }
    read += page.content.length
    cursor = page.nextCursor
  }
  if (read !== endpointCount) throw new Error(`the pages have ${read} endpoints`)
  return (read / (performance.now() - began)) * 1000
}

async function longList(environment: Environment): Promise<Figure[]> {
  const bare = await barePages(environment)
  const outcome = await run(environment, ['endpoints', 'list', '-o', 'csv'], { watchMemory: true })
  const rate = (outcome.lines / outcome.milliseconds) * 1000
  return [
    { name: 'Endpoints listed as CSV', value: outcome.lines - 1, unit: '', limit: { min: endpointCount } },
    { name: 'Endpoints listed as CSV, each second', value: rate, unit: '/s' },
    { name: 'Rate against bare fetch of the largest pages', value: rate / bare, unit: 'times', limit: { min: 0.5 } },
    { name: 'Highest memory of the command (PSS)', value: outcome.memoryMb, unit: 'MB', limit: { max: 150 } },
  ]
}

export async function commandLine(): Promise<Figure[]> {
  const platform = await openBenchPlatform()
  try {
    await fill(platform, 1, 1, { tokens: false })
    const environment = { WAYPOST_URL: platform.platform.baseUrl, WAYPOST_API_KEY: await apiKeyOf(platform) }
    return await runParts({
      durations: () => durations(platform, environment),
      async list() {
        await fill(platform, 2, endpointCount, { tokens: false })
        return await longList(environment)
      },
    })
  } finally {
    await platform.close()
  }
}
