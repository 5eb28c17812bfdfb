/** Tests lists of twenty thousand endpoints: streamed responses use constant memory and wait for slow readers. */
import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { before, suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { sleep } from '../../../kernel/clock.ts'
import { insertEndpoints } from '../endpoints/store/endpoints.ts'

const count = 20_000
const caller = aTenantAdmin()
const { waypost, admin, anApplication } = await openRegister({
  authenticate: () => async (headers) => (headers.authorization === 'Bearer of a reader' ? caller : undefined),
})
const { app, version } = await anApplication()
const url = (parameters: Record<string, unknown>) =>
  `${root}/endpoints${query({ applicationName: app, ...parameters })}`

before(async () => {
  const into = { tenantId: 'default', applicationName: app, at: new Date() }
  for (let i = 0; i < count; i += 2000)
    await waypost.kit.db.tx((sql) =>
      insertEndpoints(
        sql,
        into,
        Array.from({ length: 2000 }, (_, j) => ({
          endpointId: `device-${i + j}`,
          versionName: version,
          metadata: { number: i + j, city: (i + j) % 100 === 0 ? 'Kyiv' : 'Lviv', text: 'x'.repeat(1000) },
        })),
      ),
    )
  await waypost.kit.db.sql.unsafe('vacuum analyze register.endpoints')
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const heapUsed = () => {
  collect()
  return process.memoryUsage().heapUsed
}

/** Uses a real socket, because only there back-pressure occurs. */
async function open(path: string): Promise<{ response: IncomingMessage; server: Socket }> {
  const { app } = waypost.http
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const server = new Promise<Socket>((resolve) => app.server.once('connection', resolve))
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, path, agent: false, headers: { authorization: 'Bearer of a reader' } }, resolve).on('error', reject)
  })
  assert.equal(response.statusCode, 200)
  return { response, server: await server }
}

suite('limit=0', () => {
  test('limit=0 returns every endpoint once, in order', async () => {
    for (const parameters of [{}, { regex: '^device' }] as Record<string, unknown>[]) {
      const { body } = await admin(`GET ${url({ limit: 0, metadataKeys: 'number', ...parameters })}`)
      assert.equal(body.totalElements, count)
      const numbers = body.content.map((endpoint: { metadata: { number: number } }) => endpoint.metadata.number)
      assert.deepEqual(
        numbers,
        Array.from({ length: count }, (_, i) => i),
      )
    }
  })

  test('limit=0 uses constant memory', async () => {
    const { response } = await open(url({ limit: 0, include: 'metadata' }))
    const before = heapUsed()
    let [total, grown, next] = [0, 0, 0]
    for await (const chunk of response) {
      total += chunk.length
      if (total < next) continue
      next += 4_000_000
      grown = Math.max(grown, heapUsed() - before)
    }
    assert.ok(total > count * 1000, `${total} bytes`)
    assert.ok(grown < 8_000_000, `the heap grew by ${grown} bytes`)
  })

  test('limit=0 waits for a slow reader', async () => {
    const { response, server } = await open(url({ limit: 0, include: 'metadata' }))
    response.pause()
    await sleep(700)
    const written = server.bytesWritten
    assert.ok(written < (count * 1000) / 2, `${written} bytes were written to nobody`)
    response.destroy()
  })
})

suite('a page of a large list', () => {
  test('a page of a large list contains only the ten endpoints that the caller may read', async () => {
    const on = Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [`endpoint-device-${i * 1999}`, ['endpoint:read']]),
    )
    const few = waypost.as(aCaller({ on }))
    const answer = await few(`GET ${root}/endpoints`)
    assert.equal(answer.body.totalElements, 10)
    assert.equal(ids(answer).at(-1), `device-${9 * 1999}`)
  })

  test('a page of a large list is correct for a large offset and for a metadata filter', async () => {
    const deep = await admin(`GET ${url({ offset: 19_990, limit: 5 })}`)
    assert.deepEqual(
      ids(deep),
      [0, 1, 2, 3, 4].map((i) => `device-${19_990 + i}`),
    )
    const kyiv = await admin(`GET ${url({ metadataFilter: { city: 'Kyiv' }, limit: 2, offset: 1 })}`)
    assert.deepEqual([ids(kyiv), kyiv.body.totalElements], [['device-100', 'device-200'], 200])
  })
})
