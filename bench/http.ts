import { spawn } from 'node:child_process'
import { bearer, client } from '../test/harness/client.ts'
import { nameOf, processTree } from '../test/harness/processes.ts'
import { type LoadResult, measureLoad, pinToCore } from './load.ts'
import { removeDirectory, type StartedPlatform, serviceToken, startPlatform, temporaryDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

const rounds = 3

/** Compares an authenticated read with a bare Fastify route that returns the same bytes, alternately and on the same core. */
export async function http(): Promise<Figure[]> {
  const directory = temporaryDirectory()
  const platform = await startPlatform(directory)
  const token = await serviceToken(platform, platform.bootstrap.default)
  const headers = bearer(token)
  const ask = client(platform.baseUrl, headers)
  for (let n = 0; n < 100; n++) {
    const name = `bench-${String(n).padStart(3, '0')}`
    await ask('POST /api/v1/applications', {
      name,
      displayName: `Application ${n}`,
      description: 'Made for a measurement',
    })
    await ask(`POST /api/v1/applications/${name}/app-versions`, { nameSuffix: 'v1', displayName: 'First' })
  }
  pinTree(platform)
  const figures = [
    ...(await compare('GET one application', platform, '/api/v1/applications/bench-007', headers, 0.5)),
    ...(await compare('GET a page of 100 applications', platform, '/api/v1/applications', headers, 1 / 3)),
  ]
  await platform.stop()
  removeDirectory(directory)
  return figures
}

/** Runs the platform alone on the first core, and its database with the load on the second. */
function pinTree({ pid }: StartedPlatform) {
  for (const process of processTree(pid)) pinToCore(process, nameOf(process).startsWith('postgres') ? 1 : 0)
}

async function compare(
  name: string,
  platform: StartedPlatform,
  path: string,
  headers: Record<string, string>,
  min: number,
): Promise<Figure[]> {
  const answer = await fetch(platform.baseUrl + path, { headers })
  const bare = await bareServer(await answer.text())
  const ours: LoadResult[] = []
  const theirs: LoadResult[] = []
  for (let round = 0; round < rounds; round++) {
    theirs.push(await measureLoad(bare.pid, bare.url, headers))
    ours.push(await measureLoad(platform.pid, platform.baseUrl + path, headers))
  }
  bare.stop()
  const rate = (results: LoadResult[]) => median(results.map(({ perSecond }) => perSecond))
  const cpu = (results: LoadResult[]) => median(results.map(({ cpuMicroseconds }) => cpuMicroseconds))
  return [
    {
      name: `${name}: requests/s against bare Fastify`,
      value: rate(ours) / rate(theirs),
      unit: 'times',
      limit: { min },
    },
    {
      name: `${name}: requests for a second of processor time, against bare Fastify`,
      value: cpu(theirs) / cpu(ours),
      unit: 'times',
    },
    { name: `${name}: requests/s`, value: rate(ours), unit: '/s' },
    { name: `${name}: p99 at full load`, value: median(ours.map(({ p99Ms }) => p99Ms)), unit: 'ms' },
  ]
}

async function bareServer(body: string): Promise<{ pid: number; url: string; stop(): void }> {
  const child = spawn('taskset', ['-c', '0', process.execPath, import.meta.filename, 'bare'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(body)
  const url = await new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())))
  return { pid: child.pid!, url, stop: () => child.kill() }
}

if (process.argv[2] === 'bare') {
  const { fastify } = await import('fastify')
  const { text } = await import('node:stream/consumers')
  const body = await text(process.stdin)
  const app = fastify()
  app.get('/', (_, reply) => reply.type('application/json; charset=utf-8').send(body))
  process.stdout.write(await app.listen({ host: '127.0.0.1', port: 0 }))
}
