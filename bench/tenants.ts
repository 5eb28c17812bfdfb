import { sleep } from '../src/kernel/clock.ts'
import { bearer, client } from '../test/harness/client.ts'
import { aRegistration } from '../test/harness/registration.ts'
import { removeDirectory, type StartedPlatform, serviceToken, startPlatform, temporaryDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

const count = 10_000
const parallel = 16

/** Compares start-up time and idle memory with 10,000 tenants and with the two built-in tenants. */
export async function tenants(): Promise<Figure[]> {
  const directory = temporaryDirectory()
  const few = await measureStarts(directory)
  const platform = await startPlatform(directory)
  const began = performance.now()
  await createAll(platform)
  const perSecond = count / ((performance.now() - began) / 1000)
  await platform.stop()
  const many = await measureStarts(directory)
  removeDirectory(directory)
  return [
    {
      name: 'Start-up with 10,000 tenants against the two built-in tenants',
      value: many.seconds / few.seconds,
      unit: 'times',
      limit: { max: 1.1 },
    },
    {
      name: 'Idle memory with 10,000 tenants against the two built-in tenants',
      value: many.memoryMb / few.memoryMb,
      unit: 'times',
      limit: { max: 1.1 },
    },
    { name: 'Tenants registered and built', value: perSecond, unit: '/s' },
  ]
}

async function measureStarts(directory: string) {
  const seconds: number[] = []
  const memory: number[] = []
  for (let round = 0; round < 5; round++) {
    const platform = await startPlatform(directory)
    seconds.push(platform.readySeconds)
    await sleep(4000)
    memory.push(platform.memoryMb())
    await platform.stop()
  }
  return { seconds: median(seconds), memoryMb: median(memory) }
}

async function createAll(platform: StartedPlatform) {
  const newClient = async () =>
    client(platform.baseUrl, bearer(await serviceToken(platform, platform.bootstrap.platform)))
  let next = 0
  let ask = await newClient()
  const renewal = setInterval(async () => (ask = await newClient()), 120_000)
  const work = async () => {
    while (next < count) {
      const answer = await ask('POST /api/v1/tenants', aRegistration({ realm_name: `bench-${next++}` }))
      if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
  for (;;) {
    const { body: list } = await ask('GET /api/v1/tenants?status=CREATING&limit=1')
    if (list.count === 0) break
    await sleep(500)
  }
  clearInterval(renewal)
  const failed = await ask('GET /api/v1/tenants?status=FAILED&limit=1')
  if (failed.body.count > 0) throw new Error(`${failed.body.count} tenants failed`)
}
