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

/** Sends the request over a real socket, because back-pressure occurs only on real sockets. */
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
    assert.ok(written < (count * 1000) / 2, `the server must wait for the reader, and it wrote ${written} bytes`)
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

type Ask = typeof admin

/** Reads a list page by page, and returns the ids and the number of pages. */
async function readByCursor(parameters: Record<string, unknown>, ask: Ask = admin) {
  const [found, totals]: [string[], Set<number>] = [[], new Set()]
  let pages = 0
  for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
    const page = await ask(`GET ${root}/endpoints${query({ ...parameters, cursor })}`)
    assert.equal(page.status, 200, page.text)
    found.push(...ids(page))
    totals.add(page.body.totalElements)
    cursor = page.body.nextCursor
  }
  return { ids: found, totals: [...totals], pages }
}

suite('a list that is read by cursors', () => {
  const kyiv = [{ key: 'city', operator: 'IN', values: ['Kyiv'] }]
  const few = waypost.as(
    aCaller({
      on: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`endpoint-device-${i * 1999}`, ['endpoint:read']])),
    }),
  )
  const lists: [name: string, parameters: Record<string, unknown>, pages: number, ask?: Ask][] = [
    ['all endpoints', { limit: 1000 }, 21],
    ['streamed pages', { limit: 7000 }, 3],
    ['all endpoints in one page', { limit: 0 }, 1],
    ['a part of the list', { limit: 1000, offset: 18_500 }, 2],
    ['a condition that many endpoints match', { limit: 1000, metadataFilter: { text: 'x'.repeat(1000) } }, 21],
    ['a condition that few endpoints match', { limit: 70, metadataFilter: { city: 'Kyiv' } }, 3],
    ['a pattern', { limit: 70, regex: '^device-.*99$' }, 3],
    ['a pattern in streamed pages', { limit: 5000, regex: '^device-1' }, 3],
    ['a sorted list', { limit: 70, multiFilter: { and: kyiv, sort: 'number', sortOrder: 'desc' } }, 3],
    ['single endpoints', { limit: 4 }, 3, few],
  ]
  for (const [name, parameters, pages, ask] of lists)
    test(`a list that is read by cursors has each endpoint once, in order: ${name}`, async () => {
      const conditions = { applicationName: app, ...parameters }
      const whole = await (ask ?? admin)(`GET ${root}/endpoints${query({ ...conditions, limit: 0 })}`)
      const read = await readByCursor(conditions, ask)
      assert.deepEqual(read.ids, ids(whole))
      assert.deepEqual([read.totals, read.pages], [[whole.body.totalElements], pages])
    })

  test('a list that is read by cursors misses no endpoint if endpoints before the cursor are deleted', async () => {
    const { app: small, version: versionName } = await anApplication()
    const names = Array.from({ length: 6 }, (_, i) => `small-${i}`)
    const endpoints = names.map((endpointId) => ({ endpointId, versionName, metadata: {} }))
    const into = { tenantId: 'default', applicationName: small, at: new Date() }
    await waypost.kit.db.tx((sql) => insertEndpoints(sql, into, endpoints))
    const first = await admin(`GET ${root}/endpoints${query({ applicationName: small, limit: 2, cursor: '' })}`)
    await admin(`DELETE ${root}/endpoints/small-0`)
    const { nextCursor: cursor } = first.body
    const second = await admin(`GET ${root}/endpoints${query({ applicationName: small, limit: 2, cursor })}`)
    assert.deepEqual([ids(second), second.body.totalElements], [['small-2', 'small-3'], 6])
    const searched = await admin(`POST ${root}/endpoints/search`, { and: [], applicationName: small, limit: 2, cursor })
    assert.deepEqual(ids(searched), ['small-2', 'small-3'])
  })

  test('a cursor of another list, and a text that is no cursor, are rejected', async () => {
    const sorted = { multiFilter: { and: [], sort: 'number' } }
    const { nextCursor: ofSorted } = (await admin(`GET ${url({ ...sorted, cursor: '', limit: 1 })}`)).body
    const { nextCursor: ofAll } = (await admin(`GET ${url({ cursor: '', limit: 1 })}`)).body
    const encoded = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString('base64url')
    const wrong: Record<string, unknown>[] = [
      { cursor: ofSorted },
      { ...sorted, cursor: ofAll },
      ...['x', 'null', encoded([2, 'registration', 1, 1]), encoded([1, 'registration', -1, 1]), encoded([1])].map(
        (cursor) => ({ cursor }),
      ),
      { cursor: encoded([1, 'registration', 1.5, 1]) },
      { cursor: encoded([1, 'registration', '1; drop table', 1]) },
    ]
    for (const parameters of wrong) {
      const { status, body } = await admin(`GET ${url(parameters)}`)
      assert.deepEqual([status, /^cursor: /.test(body.message)], [400, true], JSON.stringify([parameters, body]))
    }
  })
})
