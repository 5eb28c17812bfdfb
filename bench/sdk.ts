/** Compares the SDK with bare `fetch` and the same parsing, and runs a thousand rounds through a hostile proxy. */
import { createServer } from 'node:http'
import { createClient } from '../sdk/src/index.ts'
import { callThroughProxy } from '../test/faults/sdk.ts'
import { startPlatform, withTemporaryDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

const requiredRounds = 1000
const rounds = Number(process.env.BENCH_ROUNDS ?? requiredRounds)
/** Number of measurements. Many short measurements are used, so that other programs hardly change the median. */
const samples = Number(process.env.BENCH_SAMPLES ?? 201)
const callsPerSample = 100
const warmUpCalls = 2000

/** Alternates calls of the SDK with calls of `fetch`, so that the load of the machine is the same for both. */
async function overhead(): Promise<number> {
  const endpoint = {
    endpointId: 'thermo-1',
    metadata: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key-${n}`, `value ${n}`])),
  }
  const text = JSON.stringify(endpoint)
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json', etag: '"1"', 'x-correlation-id': 'c' }).end(text),
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const client = createClient({ url, auth: { apiKey: 'key' } })
  const bare = async () => {
    const response = await fetch(`${url}/epr/api/v1/endpoints/thermo-1`, { headers: { 'x-identity-api-key': 'key' } })
    return { body: await response.json(), etag: response.headers.get('etag') }
  }
  const withSdk = () => client.endpoints.get({ endpointId: 'thermo-1' })
  const time = async (call: () => Promise<unknown>, calls = callsPerSample) => {
    const start = performance.now()
    for (let number = 0; number < calls; number++) await call()
    return performance.now() - start
  }
  await time(bare, warmUpCalls)
  await time(withSdk, warmUpCalls)
  const ratios: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    const first = await time(sample % 2 === 0 ? bare : withSdk)
    const second = await time(sample % 2 === 0 ? withSdk : bare)
    ratios.push(sample % 2 === 0 ? second / first : first / second)
  }
  server.closeAllConnections()
  server.close()
  return median(ratios)
}

export async function sdk(): Promise<Figure[]> {
  const ratio = await overhead()
  const outcome = await withTemporaryDirectory(async (directory) => {
    const { baseUrl, bootstrap, stop } = await startPlatform(directory)
    const { tenantId, backendClient } = bootstrap.default
    const auth = { tenant: tenantId, clientId: backendClient.id, clientSecret: backendClient.secret }
    try {
      return await callThroughProxy(baseUrl, auth, rounds, Number(process.env.BENCH_SEED ?? 1))
    } finally {
      await stop()
    }
  })
  const disturbances = Object.values(outcome.disturbances).reduce((sum, one) => sum + one, 0)
  return [
    {
      name: 'A read with the SDK against bare fetch with the same parsing',
      value: ratio,
      unit: 'times',
      limit: { max: 1.15 },
    },
    {
      name: 'Rounds through a proxy that disturbs four of ten requests',
      value: rounds,
      unit: 'rounds',
      limit: { min: requiredRounds },
    },
    {
      name: 'Requests that the proxy delayed, cut or rejected, or whose response it dropped',
      value: disturbances,
      unit: '',
    },
    { name: 'Reads that failed', value: outcome.failedReads, unit: '', limit: { max: 0 } },
    { name: 'Writes that happened twice', value: outcome.doubleWrites, unit: '', limit: { max: 0 } },
    { name: 'Writes whose outcome the caller does not know', value: outcome.unknownWrites, unit: '' },
  ]
}
