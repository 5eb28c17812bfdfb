import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { aCaller } from '../../../test/harness/builders.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let app: string
let one: Endpoint
let two: Endpoint
let clock = new Date('2026-03-01T00:00:00Z')
const allDates = 'fromDate=2026-01-01T00:00:00Z&toDate=2027-01-01T00:00:00Z'

before(async () => {
  fixture = await openBinaryData({ now: () => clock })
  app = await fixture.anApplication()
  one = await fixture.anEndpoint(app, { endpointId: 'one' })
  two = await fixture.anEndpoint(app, { endpointId: 'two' })
  for (let day = 1; day <= 3; day++)
    for (const endpoint of [one, two]) {
      clock = new Date(`2026-03-0${day}T12:00:00Z`)
      await fixture.upload(endpoint, `/files/report-${day}.CSV`, 'x'.repeat(day))
      await fixture.upload(endpoint, `/binary-data?name=shot-${day}`, 'x'.repeat(day))
    }
})

const files = (query = '', ask = fixture.admin) => ask(`GET ${root}/applications/${app}/files${query}`)
const blobs = (query = '', ask = fixture.admin) => ask(`GET ${root}/applications/${app}/binary-data/list${query}`)
const groups = (query = `?${allDates}`, ask = fixture.admin) =>
  ask(`GET ${root}/applications/${app}/binary-data${query}`)
const names = (answer: { body: { content: { endpointId: string; name: string }[] } }) =>
  answer.body.content.map(({ endpointId, name }) => `${endpointId} ${name}`)

test('files and blobs are listed with the fields that the API declares', async () => {
  const file = (await files('?limit=1')).body
  assert.equal(file.totalElements, 6)
  assert.deepEqual(file.content, [
    {
      name: 'report-1.CSV',
      endpointId: 'one',
      url: `http://waypost.test${root}/applications/${app}/endpoints/one/files/report-1.CSV`,
      size: 1,
      createdDate: '2026-03-01T12:00:00.000Z',
      updatedDate: '2026-03-01T12:00:00.000Z',
    },
  ])
  const blob = (await blobs('?limit=1')).body
  assert.equal(blob.totalElements, 6)
  assert.deepEqual(Object.keys(blob.content[0]).sort(), ['createdDate', 'endpointId', 'id', 'name', 'size', 'url'])
  const { id } = blob.content[0]
  assert.equal(
    blob.content[0].url,
    `http://waypost.test${root}/applications/${app}/endpoints/one/binary-data/${id}/data`,
  )
})

test('pages are in the order of creation, ascending or descending', async () => {
  const ascending = names(await files())
  assert.deepEqual(ascending, [
    'one report-1.CSV',
    'two report-1.CSV',
    'one report-2.CSV',
    'two report-2.CSV',
    'one report-3.CSV',
    'two report-3.CSV',
  ])
  assert.deepEqual(names(await files('?sort=DESC')), ascending.toReversed())
  assert.deepEqual(names(await files('?offset=2&limit=3')), ascending.slice(2, 5))
  const beyond = await files('?offset=99')
  assert.deepEqual([beyond.body.totalElements, beyond.body.content], [6, []])
  assert.equal(names(await blobs('?limit=0')).length, 6)
})

test('lists can be filtered by endpoints, a part of the name and inclusive dates', async () => {
  assert.equal((await files('?endpointId=one')).body.totalElements, 3)
  assert.equal((await files('?endpointId=one,%20two&endpointId=none')).body.totalElements, 6)
  assert.equal((await files('?endpointId=none')).body.totalElements, 0)
  assert.equal((await files('?name=PORT-2')).body.totalElements, 2)
  assert.equal((await files('?name=%25')).body.totalElements, 0)
  assert.equal((await blobs('?name=shot-3&endpointId=two')).body.totalElements, 1)
  assert.equal((await files('?fromDate=2026-03-02T12:00:00Z')).body.totalElements, 4)
  assert.equal((await files(`?fromDate=${Date.UTC(2026, 2, 2, 12)}`)).body.totalElements, 4)
  assert.equal((await files('?fromDate=2026-03-02')).body.totalElements, 4)
  for (const far of ['fromDate=0000-05-05', 'fromDate=0001-01-01T00:00:00%2B14:00', 'toDate=9999-12-31T23:59:59-12:00'])
    assert.equal((await files(`?${far}`)).body.totalElements, 6, far)
  for (const wrong of ['2026-02-30', 'tomorrow', '12:00'])
    assert.match((await files(`?fromDate=${wrong}`)).body.message, /^fromDate: /)
  assert.equal((await files('?toDate=2026-03-02T12:00:00Z')).body.totalElements, 4)
  assert.equal((await files('?fromDate=2026-03-02T12:00:00Z&toDate=2026-03-02T12:00:00Z')).body.totalElements, 2)
  assert.equal(
    (await files('?fromDate=2026-03-02T14:00:00%2B02:00&toDate=2026-03-02T14:00:00%2B02:00')).body.totalElements,
    2,
  )
})

test('the grouped list contains the blobs of each endpoint', async () => {
  const { status, body } = await groups()
  assert.equal(status, 200)
  assert.deepEqual(
    body.map((group: object) => Object.keys(group)),
    [['one'], ['two']],
  )
  assert.deepEqual(
    body[0].one.map(({ name }: { name: string }) => name),
    ['shot-1', 'shot-2', 'shot-3'],
  )
  assert.deepEqual(Object.keys(body[0].one[0]).sort(), ['createdDate', 'id', 'name', 'size', 'url'])
  const down = await groups(`?${allDates}&sort=DESC&endpointId=two`)
  assert.deepEqual(
    down.body[0].two.map(({ name }: { name: string }) => name),
    ['shot-3', 'shot-2', 'shot-1'],
  )
  assert.deepEqual((await groups('?fromDate=2020-01-01T00:00:00Z&toDate=2021-01-01T00:00:00Z')).body, [])
})

test('an invalid parameter is answered with 400, and the message contains its name', async () => {
  for (const [query, name] of [
    ['?limit=-1', 'limit'],
    ['?limit=x', 'limit'],
    ['?offset=-1', 'offset'],
    ['?sort=down', 'sort'],
    ['?fromDate=yesterday', 'fromDate'],
    ['?toDate=2026-13-01T00:00:00Z', 'toDate'],
    [`?name=${'x'.repeat(256)}`, 'name'],
    [`?endpointId=${'x,'.repeat(1001)}`, 'endpointId'],
    ['?name=%00', 'name'],
  ])
    for (const ask of [files, blobs]) {
      const answer = await ask(query)
      assert.equal(answer.status, 400, `${query}: ${answer.text}`)
      assert.ok(answer.body.message.includes(name), answer.text)
    }
  for (const [query, name] of [
    ['', 'fromDate'],
    ['?fromDate=2026-01-01T00:00:00Z', 'toDate'],
    ['?toDate=2026-01-01T00:00:00Z', 'fromDate'],
  ]) {
    const answer = await groups(query)
    assert.equal(answer.status, 400)
    assert.ok(answer.body.message.includes(name), answer.text)
  }
})

test('a list and its total contain only items that the caller may read', async () => {
  const mine = fixture.waypost.as(
    aCaller({ on: { 'endpoint-one': ['endpoint:read'], 'endpoint-elsewhere': ['endpoint:read'] } }),
  )
  assert.equal((await files('', mine)).body.totalElements, 3)
  assert.equal((await blobs('?endpointId=one,two', mine)).body.totalElements, 3)
  assert.deepEqual((await groups(undefined, mine)).body.length, 1)
  const reader = fixture.waypost.as(aCaller({ on: { [`application-${app}`]: ['endpoint:read'] } }))
  assert.equal((await files('', reader)).body.totalElements, 6)
})

test('applications of another tenant, unknown applications and hidden applications get the same 404', async () => {
  const withoutScopes = fixture.waypost.as(aCaller())
  const other = fixture.adminOf('other')
  for (const list of [files, blobs, (_: string, ask: typeof fixture.admin) => groups(undefined, ask)]) {
    const answers = [await list('', withoutScopes), await list('', other)]
    for (const answer of answers) {
      assert.equal(answer.status, 404)
      assert.deepEqual(answer.body, { message: `There is no application ${app}, or the caller may not read it` })
    }
  }
  const sees = fixture.waypost.as(aCaller({ on: { [`application-${app}`]: ['application:read'] } }))
  assert.equal((await files('', sees)).status, 403)
})

test('long lists are streamed completely and in order', async () => {
  const long = await fixture.anApplication()
  const many = 2500
  await fixture.waypost.kit.db.sql`
    insert into binary_data.items (endpoint_id, id, kind, tenant_id, application_name, name, content_key, size, checksum, created_date, updated_date)
    select 'many-' || (n % 2), 'id-' || n, 'blob', 'default', ${long}, 'name-' || n, 'key-' || n, 1, 'x',
      timestamptz '2026-01-01' + make_interval(secs => n / 10), timestamptz '2026-01-01'
    from generate_series(1, ${many}) n`
  const get = (query: string) => fixture.admin(`GET ${root}/applications/${long}/binary-data${query}`)
  for (const [query, from, to] of [
    ['/list?limit=0', 1, many],
    ['/list?limit=1500', 1, 1500],
    ['/list?limit=1000', 1, 1000],
    ['/list?limit=0&offset=700', 701, many],
  ] as const) {
    const { body } = await get(query)
    assert.equal(body.totalElements, many)
    const expected = Array.from({ length: to - from + 1 }, (_, n) => `name-${from + n}`)
    assert.deepEqual(
      body.content.map(({ name }: { name: string }) => name),
      expected,
      query,
    )
  }
  const down = (await get('/list?limit=0&sort=DESC')).body.content
  assert.deepEqual([down.length, down[0].name, down.at(-1).name], [many, `name-${many}`, 'name-1'])
  const grouped = (await get(`?${allDates}`)).body as Record<string, { name: string }[]>[]
  const flat = grouped.flatMap((group) =>
    Object.entries(group).flatMap(([id, items]) => items.map(({ name }) => `${id} ${name}`)),
  )
  assert.equal(new Set(flat).size, many)
  assert.equal(flat.filter((text) => text.startsWith('many-0 ')).length, many / 2)
  assert.deepEqual((await get('/list?limit=0&name=nobody')).body, { totalElements: 0, content: [] })
})
