/** Tests lists of statuses: filters, pages, permissions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'

const { waypost, admin, other, ok, aTestEndpoint, anEndpoint, testEndpoint } = await openConfiguration()
const list = `GET ${ecr}/statuses`

test('pages have the fields of a Spring page; together they contain each matching configuration once, newest first', async () => {
  const { app, version, put } = await aTestEndpoint()
  const written: string[] = [(await put({ n: -1 })).configId]
  for (let n = 0; n < 6; n++) {
    const one = testEndpoint({ app, version, ...(await anEndpoint(version)) })
    written.unshift((await one.put({ n }, n % 2 === 0 ? '' : '?name=odd')).configId)
  }
  const query = `${list}?appVersionName=${version}&size=3`
  const pages = await Promise.all([0, 1, 2, 3].map((page) => ok(`${query}&page=${page}`)))
  assert.deepEqual(
    pages.flatMap(({ content }) => content.map(({ configId }: { configId: string }) => configId)),
    written,
  )
  const { content: _, ...second } = pages[1]
  const sort = { sorted: true, unsorted: false, empty: false }
  assert.deepEqual(second, {
    pageable: { offset: 3, pageNumber: 1, pageSize: 3, paged: true, unpaged: false, sort },
    ...{ totalElements: 7, totalPages: 3, last: false, first: false, sort },
    ...{ numberOfElements: 3, size: 3, number: 1, empty: false },
  })
  assert.deepEqual([pages[0].first, pages[2].last, pages[3].empty, pages[3].last], [true, true, true, true])
  assert.equal((await ok(`${query}&name=odd`)).totalElements, 3)
  assert.equal((await ok(`${query}&configId=${written[0]}`)).totalElements, 1)
  const nothing = ['name=none', 'configId=none', 'status=APPLIED', 'endpointId=none'].map((one) =>
    ok(`${query}&${one}`),
  )
  for (const { content, totalElements, totalPages } of await Promise.all(nothing))
    assert.deepEqual([content, totalElements, totalPages], [[], 0, 0])
})

test('a query names several endpoints with a repeated parameter, or separated by commas', async () => {
  const [a, b, c] = [await aTestEndpoint(), await aTestEndpoint(), await aTestEndpoint()]
  for (const { put } of [a, b, c]) await put(1)
  for (const query of [
    `endpointId=${a.endpointId},${b.endpointId}`,
    `endpointId=${a.endpointId}&endpointId=${b.endpointId}`,
    `endpointId=${a.endpointId},%20${b.endpointId}`,
  ]) {
    const { totalElements } = await ok(`${list}?${query}`)
    assert.equal(totalElements, 2, query)
  }
})

test('wrong parameters are answered with 400', async () => {
  const long = Array.from({ length: 1001 }, (_, n) => `e${n}`).join(',')
  for (const query of ['page=-1', 'page=x', 'size=0', 'size=10001', 'status=DONE', 'status=', `endpointId=${long}`]) {
    const { status, body } = await admin(`${list}?${query}`)
    assert.equal(status, 400, query)
    assert.match(body.message, new RegExp(query.split('=')[0]!))
  }
})

test('a caller sees the statuses of endpoint configurations and defaults, but only of endpoints that the caller may read', async () => {
  const [mine, sibling] = [await aTestEndpoint(), await aTestEndpoint()]
  for (const { put, defaults } of [mine, sibling]) {
    await put({ own: true })
    await ok(`PUT ${defaults}?name=common`, 1)
  }
  const seenBy = async (on: Record<string, string[]>) => {
    const { status, body } = await waypost.as(aCaller({ on }))(`${list}?size=1000`)
    assert.equal(status, 200)
    return {
      total: body.totalElements,
      ids: new Set(body.content.map((one: { endpointId: string }) => one.endpointId)),
    }
  }
  const read = ['endpoint:read']
  assert.deepEqual(await seenBy({}), { total: 0, ids: new Set() })
  const expected = { total: 2, ids: new Set([mine.endpointId]) }
  assert.deepEqual(await seenBy({ [`endpoint-${mine.endpointId}`]: read }), expected)
  assert.deepEqual(await seenBy({ [`application-${mine.app}`]: read }), expected)
  const both = await seenBy({ [`application-${mine.app}`]: read, [`endpoint-${sibling.endpointId}`]: read })
  assert.deepEqual([both.total, both.ids], [4, new Set([mine.endpointId, sibling.endpointId])])
  assert.equal((await other(`${list}?size=1000`)).body.totalElements, 0)
  assert.equal((await other(`${list}?endpointId=${mine.endpointId}`)).body.totalElements, 0)
  assert.equal((await waypost.as(undefined)(list)).status, 401)
})

test('a page of large configurations contains all configurations', async () => {
  const { app, version } = await aTestEndpoint()
  const endpoints = await Promise.all(Array.from({ length: 12 }, () => anEndpoint(version)))
  for (const [n, endpoint] of endpoints.entries())
    await testEndpoint({ app, version, ...endpoint }).put(JSON.stringify(`${n}`.padEnd(900_000, 'x')))
  const { content } = await ok(`${list}?appVersionName=${version}&size=100`)
  assert.deepEqual(
    content.map(({ config }: { config: string }) => config.slice(1, 3).replace('x', '')),
    Array.from({ length: 12 }, (_, n) => `${11 - n}`),
  )
})
