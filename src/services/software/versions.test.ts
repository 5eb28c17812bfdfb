import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openSoftware, softwareRoot } from '../../../test/harness/software.ts'

const at = await openSoftware()
const { admin, other, waypost, aFleet, report, requestVersion } = at

suite('software versions', () => {
  test('a version is created with all fields, read with its ETag and listed by precedence', async () => {
    const { app, software, release, aFilter } = await aFleet()
    const first = await release('1.0.0')
    assert.equal(first.headers.location, `${waypost.baseUrl}${software}/1.0.0`)
    const { createdDate, updatedDate, ...rest } = first.body
    assert.deepEqual(rest, {
      appName: app,
      version: '1.0.0',
      upgradableFrom: [],
      rolloutStrategy: 'general',
      filters: [],
      skipDispatchingToEndpoint: false,
      rolloutState: 'active',
      warnings: [],
    })
    assert.ok(createdDate && updatedDate)
    const filterId = await aFilter({ 'metadata.a': 1 })
    const fields = {
      specification: { z: 1, a: [{ b: 'x' }] },
      metadata: ['any', { json: null }],
      upgradableFrom: ['1.0.0'],
      rolloutStrategy: 'targeted',
      filters: [{ filterId, rolloutDate: '2020-02-29T10:00:00Z' }, { filterId }],
      skipDispatchingToEndpoint: true,
      filename: 'a.bin',
      failureThreshold: { percent: 50 },
    }
    const { body } = await release('1.10.0-rc.1+build.5', fields)
    assert.deepEqual(
      { ...fields, failureThreshold: { percent: 50, minimumAttempts: 10 } },
      Object.fromEntries(Object.keys(fields).map((key) => [key, body[key]])),
    )
    assert.deepEqual(Object.keys(body.specification), ['z', 'a'])
    await release('1.2.0')
    const list = await admin(`GET ${software}`)
    assert.deepEqual(
      list.body.map(({ version }: { version: string }) => version),
      ['1.0.0', '1.2.0', '1.10.0-rc.1+build.5'],
    )
    const path = `GET ${software}/1.10.0-rc.1%2Bbuild.5`
    const read = await admin(path)
    assert.deepEqual(read.body, body)
    assert.deepEqual(list.body[2], body)
    const again = await admin(path, undefined, { 'if-none-match': read.headers.etag! })
    assert.deepEqual([again.status, again.text], [304, ''])
  })

  const semver: [string, number][] = [
    ['1', 400],
    ['1.2', 400],
    ['v1.2.3', 400],
    ['=1.2.3', 400],
    ['01.2.3', 400],
    ['1.2.3-01', 400],
    ['1.2.3-', 400],
    ['1.2.3+', 400],
    ['1.2.3%20', 400],
    ['endpoints', 400],
    ['0.0.0', 201],
    ['1.2.99999999999999999999', 201],
    ['1.2.3-0A.is.legal', 201],
    ['1.2.3----RC-SNAPSHOT.12.9.1--.12', 201],
    ['1.0.0%2B0.build.1-rc.10000aaa-kk-0.1', 201],
  ]
  test('a version must be a semantic version', async () => {
    const { software } = await aFleet()
    for (const [version, status] of semver) {
      const answer = await admin(`POST ${software}/${version}`, { rolloutStrategy: 'general' })
      assert.equal(answer.status, status, `${version}: ${answer.text}`)
      if (status === 400) assert.match(answer.body.message, /softwareVersion/)
    }
  })

  test('bad bodies of software versions are rejected, and the error names the field', async () => {
    const { software, release } = await aFleet()
    const otherFleet = await aFleet()
    const foreign = await otherFleet.aFilter({})
    await release('1.0.0')
    const bad: [object, RegExp, number?][] = [
      [{}, /rolloutStrategy/],
      [{ rolloutStrategy: 'all' }, /rolloutStrategy/],
      [{ upgradableFrom: ['0.9.0'] }, /upgradableFrom/],
      [{ upgradableFrom: ['2.0.0'] }, /upgradableFrom/],
      [{ upgradableFrom: '1.0.0' }, /upgradableFrom/],
      [{ filters: [{}] }, /filterId/],
      [{ filters: [{ filterId: 'none' }] }, /filters/],
      [{ filters: [{ filterId: foreign }] }, /filters/],
      [{ filters: [{ filterId: foreign, rolloutDate: '2026-01-01' }] }, /rolloutDate/],
      [{ filters: [{ filterId: foreign, rolloutDate: '2026-01-01T00:00:00.000Z' }] }, /rolloutDate/],
      [{ failureThreshold: { percent: 0 } }, /percent/],
      [{ failureThreshold: { percent: 101 } }, /percent/],
      [{ failureThreshold: { percent: 5, minimumAttempts: 0 } }, /minimumAttempts/],
      [{ skipDispatchingToEndpoint: 'yes' }, /skipDispatchingToEndpoint/],
      [{ filename: '' }, /filename/],
      [{ specification: 'x'.repeat(999_999) }, /specification/, 413],
    ]
    for (const [fields, problem, status = 400] of bad) {
      const needed =
        'rolloutStrategy' in fields || Object.keys(fields).length === 0 ? {} : { rolloutStrategy: 'general' }
      const answer = await admin(`POST ${software}/2.0.0`, { ...needed, ...fields })
      assert.equal(answer.status, status, `${JSON.stringify(fields).slice(0, 80)} ${answer.text.slice(0, 200)}`)
      assert.match(answer.body.message, problem)
    }
    const ownFleet = await aFleet()
    const filterId = await ownFleet.aFilter({})
    for (const rolloutDate of [
      '2026-01-01',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '0000-01-01T00:00:00Z',
    ]) {
      const body = { rolloutStrategy: 'targeted', filters: [{ filterId, rolloutDate }] }
      const answer = await admin(`POST ${ownFleet.software}/2.0.0`, body)
      assert.equal(answer.status, 400, rolloutDate)
      assert.match(answer.body.message, /^filters\.0\.rolloutDate: /)
    }
    assert.equal((await admin(`GET ${software}`)).body.length, 1)
    assert.equal((await admin(`POST ${software}/1.0.0`, { rolloutStrategy: 'general' })).status, 409)
    assert.equal(
      (await admin(`POST ${software}/2.0.0`, { specification: 'x'.repeat(999_998), rolloutStrategy: 'general' }))
        .status,
      201,
    )
  })

  test('PUT replaces the rollout and keeps the specification, and is rejected for an old If-Match', async () => {
    const { software, release, put, read, aFilter } = await aFleet()
    await release('1.0.0')
    const filterId = await aFilter({})
    const fields = {
      specification: { a: 1 },
      metadata: 1,
      upgradableFrom: ['1.0.0'],
      filename: 'f',
      failureThreshold: { percent: 1 },
    }
    await release('2.0.0', { ...fields, filters: [{ filterId }], skipDispatchingToEndpoint: true })
    const before = (await admin(`GET ${software}/2.0.0`)).headers.etag!
    await put('2.0.0', { rolloutStrategy: 'suspended', specification: { b: 2 }, filename: 'g', version: '9.9.9' })
    const { createdDate: _, updatedDate: __, appName: ___, ...rest } = await read('/2.0.0')
    assert.deepEqual(rest, {
      version: '2.0.0',
      specification: { a: 1 },
      filename: 'f',
      upgradableFrom: [],
      rolloutStrategy: 'suspended',
      filters: [],
      skipDispatchingToEndpoint: false,
      rolloutState: 'active',
      warnings: [],
    })
    const body = { rolloutStrategy: 'general' }
    assert.equal((await admin(`PUT ${software}/2.0.0`, body, { 'if-match': before })).status, 412)
    assert.equal((await admin(`DELETE ${software}/2.0.0`, undefined, { 'if-match': before })).status, 412)
    assert.equal((await read('/2.0.0')).rolloutStrategy, 'suspended')
    assert.equal((await admin(`PUT ${software}/2.0.0`, body, { 'if-match': '' })).status, 204)
    const now = (await admin(`GET ${software}/2.0.0`)).headers.etag!
    const racing = await Promise.all(
      [1, 2, 3].map((metadata) => admin(`PUT ${software}/2.0.0`, { ...body, metadata }, { 'if-match': now })),
    )
    assert.deepEqual(racing.map(({ status }) => status).sort(), [204, 412, 412])
    assert.equal((await admin(`PUT ${software}/3.0.0`, body)).status, 404)
    assert.match(
      (await admin(`PUT ${software}/2.0.0`, { ...body, upgradableFrom: ['2.0.0'] })).body.message,
      /upgradableFrom/,
    )
  })

  test('a version that an endpoint runs cannot be deleted; other versions are removed from the upgrade graph', async () => {
    const { software, release, read, anEndpoint } = await aFleet()
    await release('1.0.0')
    await release('2.0.0', { upgradableFrom: ['1.0.0'] })
    await release('3.0.0', { upgradableFrom: ['1.0.0', '2.0.0'] })
    const { topic, endpointId } = await anEndpoint()
    await report(topic, '1.0.0')
    assert.equal(await requestVersion(topic), '3.0.0')
    assert.equal((await admin(`DELETE ${software}/1.0.0`)).status, 409)
    assert.equal((await admin(`DELETE ${software}/2.0.0`)).status, 204)
    assert.deepEqual((await read('/3.0.0')).upgradableFrom, ['1.0.0'])
    assert.equal((await admin(`DELETE ${software}/3.0.0`)).status, 204)
    assert.equal(await requestVersion(topic), undefined)
    await eventually(async () => {
      const { state, offeredVersion, attempts } = await read(`/endpoints/${endpointId}`)
      assert.deepEqual([state, offeredVersion, attempts[0].version], ['current', undefined, '3.0.0'])
    })
    await report(topic, '1.0.0', { statusCode: 500 })
    assert.equal((await admin(`DELETE ${software}/1.0.0`)).status, 409)
    assert.equal((await admin(`DELETE ${software}/9.0.0`)).status, 404)
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
    assert.equal((await admin(`DELETE ${software}/1.0.0`)).status, 204)
  })

  test('the API warns of cycles in the upgrade graph, and of versions that no upgrade path leads to', async () => {
    const { release, put, read } = await aFleet()
    await release('1.0.0')
    await release('2.0.0', { upgradableFrom: ['1.0.0'] })
    await release('3.0.0', { upgradableFrom: ['2.0.0'] })
    assert.deepEqual((await read('/3.0.0')).warnings, [])
    await put('1.0.0', { upgradableFrom: ['3.0.0'] })
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
      const { warnings } = await read(`/${version}`)
      assert.match(warnings[0], /cycle/)
      assert.match(warnings[1], /starting point/)
      assert.deepEqual((await read(`/${version}/rollout`)).warnings, warnings)
    }
    await release('0.1.0')
    await put('1.0.0', { upgradableFrom: ['0.1.0'] })
    assert.deepEqual((await read('/2.0.0')).warnings, [])
  })

  test('a filter that the caller may not read counts as missing', async () => {
    const { app, software, aFilter, release } = await aFleet()
    await release('1.0.0')
    const filters = [{ filterId: await aFilter({}) }]
    const body = { rolloutStrategy: 'targeted', filters }
    const withScopes = (...scopes: string[]) =>
      waypost.as(aCaller({ on: { [`application-${app}`]: ['application:software:update', ...scopes] } }))
    const refused = await withScopes()(`POST ${software}/2.0.0`, body)
    const missing = await withScopes()(`POST ${software}/2.0.0`, { ...body, filters: [{ filterId: 'none' }] })
    assert.deepEqual([refused.status, missing.status], [400, 400])
    assert.equal(refused.body.message.replace(filters[0]!.filterId, 'none'), missing.body.message)
    assert.equal((await withScopes()(`PUT ${software}/1.0.0`, body)).status, 400)
    const reader = withScopes('application:endpoint-filter:read')
    assert.equal((await reader(`POST ${software}/2.0.0`, body)).status, 201)
    assert.equal((await reader(`PUT ${software}/1.0.0`, body)).status, 204)
  })

  test('a caller without the permission, or of another tenant, gets the 404 of a missing version', async () => {
    const { app, software, release } = await aFleet()
    await release('1.0.0')
    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['application:software:read'] } }))
    assert.equal((await reader(`GET ${software}`)).status, 200)
    const body = { rolloutStrategy: 'general' }
    const operations: [string, object?][] = [
      [`PUT ${software}/1.0.0`, body],
      [`POST ${software}/2.0.0`, body],
      [`DELETE ${software}/1.0.0`],
      [`POST ${software}/1.0.0/pause`],
      [`POST ${software}/1.0.0/resume`],
    ]
    for (const [operation, sent] of operations) assert.equal((await reader(operation, sent)).status, 404, operation)
    const reads = ['', '/1.0.0', '/1.0.0/rollout', '/1.0.0/preview', '/1.0.0/file', '/endpoints', '/endpoints/e'].map(
      (path): [string] => [`GET ${software}${path}`],
    )
    for (const [operation, sent] of [...operations, ...reads]) {
      const absent = operation.replaceAll(app, 'no-such-app')
      const [theirs, missing] = [await other(operation, sent), await other(absent, sent)]
      assert.equal(theirs.status, 404, operation)
      assert.equal(theirs.text.replaceAll(app, 'no-such-app'), missing.text)
      assert.equal((await waypost.as(aCaller())(operation, sent)).status, 404, operation)
    }
    assert.equal((await waypost.as(undefined)(`GET ${software}`)).status, 401)
  })

  test('software is deleted with its application', async () => {
    const { app, software, release } = await aFleet()
    await release('1.0.0')
    assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 204)
    assert.equal((await admin(`GET ${software}`)).status, 404)
    const { sql } = waypost.kit.db
    await eventually(async () => {
      const rows = await sql`select from software.versions where application_name = ${app}`
      const applications = await sql`select from software.applications where application_name = ${app}`
      assert.deepEqual([rows.length, applications.length], [0, 0])
    })
    assert.equal(
      (await admin(`POST ${softwareRoot}/applications/${app}/software/1.0.0`, { rolloutStrategy: 'general' })).status,
      404,
    )
  })
})
