/** Tests filters with slow patterns. Such filters must not block other requests, and must have exactly the matching endpoints. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { longestStallMs } from '../../../../test/harness/thread-time.ts'

const { admin, publishedEvents, anApplication, anEndpoint } = await openRegister()

/** Returns a random text of a and b. */
const noise = (length: number) => Array.from({ length }, () => (Math.random() < 0.5 ? 'a' : 'b')).join('')
const matching = `${'ab'.repeat(1500)}c`
/** PostgreSQL rejects this pattern. */
const complex = '((\\b|(\\d[^x])){7,23}.)*'
const heavy = (repetitions: number) => `a[ab]{${repetitions}}[^ab]`

const aFilter = async (app: string, documentQuery: object, name = `f${Math.random()}`) => {
  const created = await admin(`POST ${root}/applications/${app}/filters`, { name, documentQuery })
  assert.equal(created.status, 201, created.text)
  return created.body.id as string
}
const isActive = (app: string, id: string) =>
  eventually(async () => {
    const { body } = await admin(`GET ${root}/applications/${app}/filters/${id}`)
    assert.equal(body.status, 'active')
  })
const membersOf = async (filterId: string) => ids(await admin(`GET ${root}/endpoints${query({ filterId })}`))
const eventsOf = (filterId: string) =>
  publishedEvents
    .filter(({ event, payload }) => /matched$/.test(event) && payload.filterId === filterId)
    .map(({ event, payload }) => [event.split('.').at(-1), ...payload.endpointIds])

suite('slow patterns', () => {
  test('slow patterns do not block the main thread', async () => {
    const { app, version } = await anApplication()
    for (let i = 0; i < 6; i++) await aFilter(app, { 'metadata.text': { $regex: heavy(250 - i) } })
    const longest = await longestStallMs(async () => {
      const id = await anEndpoint(version, { metadata: { text: noise(20_000) } })
      const changed = await admin(`PUT ${root}/endpoints/${id}/metadata/text`, JSON.stringify(noise(20_000)))
      assert.equal(changed.status, 204)
    })
    assert.ok(longest < 500, `the main thread was blocked for ${Math.round(longest)} ms`)
  })

  test('slow patterns find members and publish events, like fast patterns', async () => {
    const { app, version } = await anApplication()
    const filterId = await aFilter(app, { 'metadata.text': { $regex: heavy(255) } })
    await isActive(app, filterId)
    const id = await anEndpoint(version, { metadata: { text: matching } })
    await anEndpoint(version, { metadata: { text: noise(3000) } })
    assert.deepEqual(await membersOf(filterId), [id])
    for (const [text, members] of [
      [noise(3000), []],
      [noise(2500), []],
      [matching, [id]],
      [`x${matching}`, [id]],
    ] as const) {
      assert.equal((await admin(`PUT ${root}/endpoints/${id}/metadata/text`, JSON.stringify(text))).status, 204)
      assert.deepEqual(await membersOf(filterId), members)
    }
    assert.deepEqual(eventsOf(filterId), [
      ['matched', id],
      ['unmatched', id],
      ['matched', id],
    ])
  })

  test('slow patterns are also evaluated for a pending filter', async () => {
    const { app, version } = await anApplication()
    const [goes, comes] = [
      await anEndpoint(version, { metadata: { text: matching } }),
      await anEndpoint(version, { metadata: { text: noise(3000) } }),
    ]
    const filterId = await aFilter(app, { 'metadata.text': { $regex: heavy(255) } })
    await Promise.all([
      admin(`PUT ${root}/endpoints/${goes}/metadata/text`, JSON.stringify(noise(3000))),
      admin(`PUT ${root}/endpoints/${comes}/metadata/text`, JSON.stringify(matching)),
    ])
    await isActive(app, filterId)
    assert.deepEqual(await membersOf(filterId), [comes])
    const { body } = await admin(`GET ${root}/applications/${app}/filters/${filterId}`)
    assert.equal(body.matchedEndpointsCount, 1)
  })

  test('too many slow patterns, and patterns that are too complex for the platform or the database, are rejected', async () => {
    const { app, version } = await anApplication()
    const create = (documentQuery: object) =>
      admin(`POST ${root}/applications/${app}/filters`, { name: `n${Math.random()}`, documentQuery })
    const cases: object[] = [
      { 'metadata.a': { $regex: complex } },
      { 'metadata.a': { $regex: heavy(255) }, 'metadata.b': { $regex: heavy(255) } },
      { $or: Array.from({ length: 20 }, (_, i) => ({ 'metadata.a': { $regex: `x${i}[ab]{30}` } })) },
    ]
    for (const documentQuery of cases) {
      const { status, body } = await create(documentQuery)
      assert.equal(status, 400)
      assert.match(body.message, /^documentQuery: .*too complex/)
    }
    await anEndpoint(version, { metadata: { a: 'x' } })
    for (const parameters of [
      { regex: complex },
      { multiFilter: { and: [{ key: 'a', operator: 'IN_REGEX', values: [complex] }] } },
    ] as Record<string, unknown>[]) {
      const { status, body } = await admin(`GET ${root}/endpoints${query({ applicationName: app, ...parameters })}`)
      assert.equal(status, 400)
      assert.match(body.message, /too complex/)
    }
    let last = 201
    const many = { $or: Array.from({ length: 8 }, (_, i) => ({ 'metadata.a': { $regex: `[ab]{50}${i}` } })) }
    for (let i = 0; i < 60 && last === 201; i++) last = (await create(many)).status
    assert.equal(last, 400)
    assert.equal((await create({ 'metadata.a': { $regex: '^plain' } })).status, 201)
  })
})

suite('the queries of an application', () => {
  test('the queries of an application have a total size limit, because each change of a filter reads all queries', async () => {
    const { app } = await anApplication()
    const values = (one: number) => Array.from({ length: 950 }, (_, index) => `${one} ${index} ${'x'.repeat(90)}`)
    const statuses: number[] = []
    for (let i = 0; i < 25 && statuses.at(-1) !== 400; i++) {
      const filter = { name: `long ${i}`, documentQuery: { 'metadata.a': { $in: values(i) } } }
      const answer = await admin(`POST ${root}/applications/${app}/filters`, filter)
      statuses.push(answer.status)
      if (answer.status === 400) assert.match(answer.body.message, /^documentQuery: .*2000000 characters together/)
    }
    assert.equal(statuses.at(-1), 400)
    assert.ok(statuses.length > 15)
    assert.equal(
      (await admin(`POST ${root}/applications/${app}/filters`, { name: 's', documentQuery: {} })).status,
      201,
    )
  })
})
