import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { jobsServices } from '../../../test/harness/jobs.ts'
import { openRegister, query } from '../../../test/harness/register.ts'
import type { Ask } from '../../../test/harness/test-platform.ts'

const { waypost, admin, anApplication, anEndpoint, publishedEvents } = await openRegister({ services: jobsServices })
const { kit } = waypost
const updateDirectory = waypost.built
  .get('register')!
  .periodic!.find(({ name }) => name === 'register.update-directory')!
const root = '/jobs/api/v1/jobs'
const endpoints = '/epr/api/v1/endpoints'

async function fleet(count: number, metadata: (n: number) => object = () => ({}), versions = ['v1', 'v2']) {
  const { app, version } = await anApplication(admin, versions)
  const ids: string[] = []
  for (let n = 0; n < count; n++)
    ids.push(await anEndpoint(version, { endpointId: `${app}-${n}`, metadata: { n, ...metadata(n) } }))
  return { app, version, ids }
}

async function create(kind: string, body: object, ask: Ask = admin) {
  const answer = await ask(`POST ${root}/${kind}`, body)
  assert.equal(answer.status, 201, answer.text)
  assert.match(answer.headers.location!, new RegExp(`${root}/${answer.body.jobId}$`))
  return answer.body
}

const read = async (jobId: string, ask: Ask = admin) => {
  const { status, body, text } = await ask(`GET ${root}/${jobId}`)
  assert.equal(status, 200, text)
  const { total, succeeded, failed, pending } = body.counts
  assert.equal(total, succeeded + failed + pending, 'the counts must add up')
  return body
}
const ended = (jobId: string) =>
  eventually(async () => {
    const job = await read(jobId)
    assert.ok(job.finishedDate)
    return job
  })
const itemsOf = async (jobId: string, filter: object = {}) => {
  const { status, body, text } = await admin(`GET ${root}/${jobId}/items${query({ limit: 1000, ...filter })}`)
  assert.equal(status, 200, text)
  return body
}
const noEndpoint = (endpointId: string) => `There is no endpoint ${endpointId}, or the caller may not read it`
const exists = async (endpointId: string) => (await admin(`GET ${endpoints}/${endpointId}`)).status === 200
const metadataOf = async (endpointId: string) => (await admin(`GET ${endpoints}/${endpointId}/metadata`)).body

suite('a job over endpoints', () => {
  test('a job deletes exactly the endpoints of its preview', async () => {
    const { app, version, ids } = await fleet(6, (n) => ({ city: n % 2 ? 'Kyiv' : 'Lviv' }))
    const select = { applicationName: app, and: [{ key: 'city', operator: 'IN', values: ['Kyiv'] }] }
    const job = await create('endpoint-deletions', { select, preview: true })
    assert.deepEqual(
      [job.state, job.kind, job.counts, job.samples, job.refused, job.refusedSamples, job.applicationName],
      [
        'prepared',
        'register.delete-endpoints',
        { total: 3, succeeded: 0, failed: 0, pending: 3 },
        [ids[1], ids[3], ids[5]],
        0,
        [],
        app,
      ],
    )
    // The list of the preview does not contain endpoints that match later, or a new endpoint with the id of a deleted endpoint.
    await admin(`DELETE ${endpoints}/${ids[3]}`)
    await anEndpoint(version, { endpointId: ids[3] })
    const later = await anEndpoint(version, { metadata: { city: 'Kyiv' } })
    assert.equal((await admin(`POST ${root}/${job.jobId}/start`)).body.state, 'waiting')
    assert.deepEqual((await ended(job.jobId)).counts, { total: 3, succeeded: 2, failed: 1, pending: 0 })
    const { content, totalElements } = await itemsOf(job.jobId)
    assert.equal(totalElements, 3)
    assert.deepEqual(content, [
      { position: 0, state: 'succeeded', endpointId: ids[1] },
      { position: 1, state: 'failed', endpointId: ids[3], reason: noEndpoint(ids[3]!) },
      { position: 2, state: 'succeeded', endpointId: ids[5] },
    ])
    assert.deepEqual(await Promise.all([...ids, later].map(exists)), [true, false, true, true, true, false, true])
    const again = await admin(`POST ${root}/${job.jobId}/start`)
    assert.deepEqual(
      [again.status, again.body.message],
      [409, `Job ${job.jobId} is not a preview that can be started: its state is finished`],
    )
  })

  test('a job applies a merge patch to the metadata of each endpoint, like a request for each endpoint', async () => {
    const { app, ids } = await fleet(3, () => ({ place: { city: 'Kyiv', floor: 1 }, old: 1 }))
    const filter = await admin(`POST /epr/api/v1/applications/${app}/filters`, {
      name: 'lviv',
      documentQuery: { 'metadata.place.city': 'Lviv' },
    })
    const { id: filterId = filter.headers.location!.split('/').at(-1) } = filter.body ?? {}
    await eventually(async () =>
      assert.equal((await admin(`GET /epr/api/v1/applications/${app}/filters/${filterId}`)).body.status, 'active'),
    )
    publishedEvents.length = 0
    const job = await create('metadata-patches', {
      select: { endpointIds: [ids[0], 'nowhere', ids[1], ids[0]] },
      merge: { place: { city: 'Lviv', floor: null }, old: null, added: [1] },
    })
    assert.deepEqual(job.refusedSamples, [{ endpointId: 'nowhere', reason: noEndpoint('nowhere') }])
    assert.deepEqual((await ended(job.jobId)).counts, { total: 3, succeeded: 2, failed: 1, pending: 0 })
    assert.deepEqual(await metadataOf(ids[1]!), { n: 1, place: { city: 'Lviv' }, added: [1] })
    assert.deepEqual(await metadataOf(ids[2]!), { n: 2, place: { city: 'Kyiv', floor: 1 }, old: 1 })
    const changes = publishedEvents.filter(({ event }) => event === 'register.endpoint.metadata-updated')
    assert.deepEqual(
      changes.map(({ payload }) => [payload.endpointId, payload.added, payload.removed]),
      [
        [ids[0], { added: '[1]' }, { old: '1' }],
        [ids[1], { added: '[1]' }, { old: '1' }],
      ],
    )
    const members = await admin(`GET ${endpoints}${query({ filterId })}`)
    assert.deepEqual(
      members.body.content.map((one: { endpointId: string }) => one.endpointId),
      [ids[0], ids[1]],
    )
    const keys = await admin(`GET /epr/api/v1/applications/${app}/metadata-keys`)
    assert.deepEqual(keys.body[`${app}-v1`].sort(), ['added', 'n', 'old', 'place'])
    const { body } = await admin(`GET ${root}/${job.jobId}`)
    assert.deepEqual(body.parameters.merge, { place: { city: 'Lviv', floor: null }, old: null, added: [1] })
  })

  test('a job applies a JSON Patch to the metadata of each endpoint; if the patch fails for one endpoint, other endpoints are changed', async () => {
    const { app, ids } = await fleet(3)
    const operations = [
      { op: 'test', path: '/n', value: 1 },
      { op: 'add', path: '/tested', value: true },
    ]
    const job = await create('metadata-patches', { select: { applicationName: app }, operations })
    assert.deepEqual((await ended(job.jobId)).counts, { total: 3, succeeded: 1, failed: 2, pending: 0 })
    assert.deepEqual(await metadataOf(ids[1]!), { n: 1, tested: true })
    const failed = await itemsOf(job.jobId, { state: 'failed', offset: 1, limit: 5 })
    assert.equal(failed.totalElements, 2)
    assert.deepEqual(
      failed.content.map((item: { position: number; reason: string }) => [item.position, item.reason]),
      [[2, 'Operation 0 of the patch failed: the value at /n is not the tested value; nothing was changed']],
    )
    assert.deepEqual((await itemsOf(job.jobId, { offset: 2 })).content.length, 1)
    assert.deepEqual((await itemsOf(job.jobId, { offset: 3 })).content, [])
  })

  test('a job moves endpoints to a version of their application', async () => {
    const { app, ids } = await fleet(2)
    const other = await fleet(1)
    publishedEvents.length = 0
    const job = await create('version-changes', {
      select: { endpointIds: [...ids, ...other.ids] },
      versionName: `${app}-v2`,
    })
    assert.deepEqual((await ended(job.jobId)).counts, { total: 3, succeeded: 2, failed: 1, pending: 0 })
    const [failed] = (await itemsOf(job.jobId, { state: 'failed' })).content
    assert.deepEqual(
      [failed.endpointId, failed.reason],
      [other.ids[0], `application ${other.app} has no version ${app}-v2`],
    )
    assert.equal((await admin(`GET ${endpoints}/${ids[0]}/app-version`)).body.name, `${app}-v2`)
    const listed = await admin(`GET ${endpoints}${query({ applicationVersionName: `${app}-v2` })}`)
    assert.equal(listed.body.totalElements, 2)
    const events = publishedEvents.filter(({ event }) => event === 'register.endpoint.version-updated')
    assert.deepEqual(
      events.map(({ payload }) => payload.previousVersionName),
      [`${app}-v1`, `${app}-v1`],
    )
  })

  test('a job that is canceled has deleted exactly the endpoints whose items are not pending', async () => {
    const { app, ids } = await fleet(1)
    const version = `${app}-v1`
    await kit.db.sql`
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date, created_date, metadata)
      select ${app} || '-many-' || n, 'default', ${app}, ${version}, now(), now(), '{}' from generate_series(1, 3000) n`
    const job = await create('endpoint-deletions', { select: { applicationName: app } })
    await eventually(async () => assert.ok((await read(job.jobId)).counts.succeeded > 0))
    const canceled = await admin(`POST ${root}/${job.jobId}/cancel`)
    assert.equal(canceled.status, 200, canceled.text)
    const { counts, state, cancelable } = canceled.body
    assert.deepEqual([state, cancelable, counts.failed], ['canceled', false, 0])
    assert.ok(
      counts.pending > 0 && counts.pending % 200 === 1,
      `some pages must be pending when the job is canceled: ${counts.pending}`,
    )
    const left = await kit.db
      .sql`select endpoint_id from register.endpoints where application_name = ${app} order by seq`
    const pending: string[] = []
    for (let offset = 0; offset < counts.pending; offset += 1000)
      for (const item of (await itemsOf(job.jobId, { state: 'pending', offset })).content) pending.push(item.endpointId)
    assert.deepEqual(
      left.map((row) => row.endpointId),
      pending,
    )
    assert.equal(pending.includes(ids[0]!), false)
    const again = await admin(`POST ${root}/${job.jobId}/cancel`)
    assert.equal(again.status, 409, again.text)
  })

  test('a job selects the same endpoints that the directory lists for the same conditions', async () => {
    const { app, ids } = await fleet(5, (n) => ({
      name: n < 4 ? `Pump ${n}` : 'Valve',
      city: n === 3 ? 'Lviv' : 'Kyiv',
    }))
    await kit.db.sql`
      update register.endpoints set connected = endpoint_id = ${ids[0]!}, connectivity_ts = '2020-05-01T00:00:00Z'
      where endpoint_id = any(${ids.slice(0, 2)}::text[])`
    await kit.db.sql`
      update register.endpoints set created_date = '2019-05-01T00:00:00Z' where endpoint_id = any(${ids.slice(2, 4)}::text[])`
    await kit.db.sql`
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select tenant_id, application_name, seq, false from register.endpoints where endpoint_id = any(${ids.slice(0, 2)}::text[])`
    const directory = async (filter: object) =>
      (await admin(`GET /epr/api/v1/directory${query({ applicationName: app, ...filter })}`)).body.content.map(
        ({ endpointId }: { endpointId: string }) => endpointId,
      )
    await updateDirectory.run(kit.db.sql as never)
    const cases: [object, number[]][] = [
      [{ search: 'PUMP' }, [0, 1, 2, 3]],
      [{ search: `${app} valve` }, [4]],
      [{ connection: 'connected' }, [0]],
      [{ connection: ['disconnected', 'never'] }, [1, 2, 3, 4]],
      [{ activeAfter: '2020-01-01T00:00:00Z' }, [0, 1]],
      [{ activeAfter: Date.UTC(2020) }, [0, 1]],
      [{ activeBefore: 'now-1d' }, [0, 1, 2, 3]],
      [{ activeBefore: '2020-01-01T00:00:00Z' }, [2, 3]],
      [{ search: 'pump', connection: 'never', metadataFilter: { city: 'Kyiv' } }, [2]],
      [{ search: 'pump', endpointIds: [ids[1], ids[4]] }, [1]],
    ]
    for (const [query, numbers] of cases) {
      const select = { applicationName: app, ...query }
      const job = await create('endpoint-deletions', { select, preview: true })
      const name = JSON.stringify(query)
      assert.deepEqual(
        job.samples,
        numbers.map((n) => ids[n]),
        name,
      )
      await admin(`POST ${root}/${job.jobId}/cancel`)
      if ('endpointIds' in query) continue
      const parameters = Object.entries(query).map(([key, value]) => [
        key,
        key === 'metadataFilter' ? JSON.stringify(value) : String(value),
      ])
      assert.deepEqual(
        await directory(Object.fromEntries(parameters)),
        numbers.map((n) => ids[n]),
        name,
      )
    }
  })

  test('a job with a bad selection or bad parameters is rejected, and nothing is stored', async () => {
    const { app } = await fleet(1)
    const before = (await admin(`GET ${root}`)).body.totalElements
    const ok = { applicationName: app }
    const bad: [string, object, RegExp][] = [
      ['endpoint-deletions', {}, /select/],
      ['endpoint-deletions', { select: {} }, /select: expected at least one condition/],
      ['endpoint-deletions', { select: { filterIds: [] } }, /select: expected at least one condition/],
      ['endpoint-deletions', { select: { all: true, applicationName: app } }, /select: expected either/],
      ['endpoint-deletions', { select: { all: false } }, /all/],
      ['endpoint-deletions', { select: { endpointIds: [] } }, /endpointIds/],
      ['endpoint-deletions', { select: { filterIds: ['none'] } }, /filterIds: there is no filter none/],
      ['endpoint-deletions', { select: { and: [{ key: 'n', operator: 'LIKE', values: [] }] } }, /operator/],
      ['endpoint-deletions', { select: { or: [], regex: 'a' } }, /or: expected at least 1 item/],
      ['endpoint-deletions', { select: { regex: '(' } }, /regex/],
      ['endpoint-deletions', { select: { search: '' } }, /select: expected at least one condition/],
      ['endpoint-deletions', { select: { metadataFilter: {} } }, /select: expected at least one condition/],
      ['endpoint-deletions', { select: { search: 'a b c d e f' } }, /search: expected at most 5 words/],
      ['endpoint-deletions', { select: { search: 'a'.repeat(101) } }, /search/],
      ['endpoint-deletions', { select: { connection: 'asleep' } }, /connection: expected never, disconnected or/],
      ['endpoint-deletions', { select: { activeAfter: 'yesterday' } }, /activeAfter/],
      ['endpoint-deletions', { select: { activeBefore: '2026-02-31T00:00:00Z' } }, /activeBefore/],
      ['endpoint-deletions', { select: { metadataFilter: '{"a":1}' } }, /metadataFilter/],
      ['endpoint-deletions', { select: { metadataFilter: { 'a b': 1 } } }, /metadataFilter: key "a b"/],
      ['endpoint-deletions', { select: ok, preview: 'yes' }, /preview/],
      ['metadata-patches', { select: ok }, /expected either operations or merge/],
      ['metadata-patches', { select: ok, merge: {}, operations: [{}] }, /expected either operations or merge/],
      ['metadata-patches', { select: ok, merge: { 'a b': 1 } }, /merge: key "a b"/],
      ['metadata-patches', { select: ok, merge: { connected: true } }, /connected is maintained by the platform/],
      ['metadata-patches', { select: ok, operations: [] }, /operations/],
      ['version-changes', { select: ok }, /versionName/],
      ['version-changes', { select: ok, versionName: 'none' }, /there is no application version none/],
    ]
    for (const [kind, body, message] of bad) {
      const answer = await admin(`POST ${root}/${kind}`, body)
      assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`)
      assert.match(answer.body.message, message)
    }
    assert.equal((await admin(`GET ${root}`)).body.totalElements, before)
    for (const bad of ['state=over', 'limit=0', 'limit=1001', 'offset=-1', 'own=perhaps'])
      assert.equal((await admin(`GET ${root}?${bad}`)).status, 400, bad)
    assert.equal((await admin(`GET ${root}/none/items?state=over`)).status, 400)
    for (const path of ['', '/items']) assert.equal((await admin(`GET ${root}/none${path}`)).status, 404)
    for (const path of ['/start', '/cancel']) assert.equal((await admin(`POST ${root}/none${path}`)).status, 404)
  })
})

suite('permissions on jobs', () => {
  test('a job fails for endpoints on which the caller lacks the scope; without any permitted endpoint, the request is rejected', async () => {
    const { app, ids } = await fleet(3)
    const some = waypost.as(
      aCaller({ on: { [`application-${app}`]: ['endpoint:read'], [`endpoint-${ids[1]}`]: ['endpoint:delete'] } }),
    )
    const job = await create('endpoint-deletions', { select: { all: true }, preview: true }, some)
    assert.deepEqual([job.counts.total, job.samples, job.refused], [3, [ids[1]], 2])
    assert.match(job.refusedSamples[0].reason, /endpoint:delete on endpoint-/)
    assert.equal((await some(`POST ${root}/${job.jobId}/start`)).status, 200)
    assert.deepEqual((await ended(job.jobId)).counts, { total: 3, succeeded: 1, failed: 2, pending: 0 })
    assert.deepEqual(await Promise.all(ids.map(exists)), [true, false, true])

    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['endpoint:read'] } }))
    const forbidden = await reader(`POST ${root}/endpoint-deletions`, { select: { applicationName: app } })
    assert.equal(forbidden.status, 403, forbidden.text)
    const otherTenant = waypost.as(aTenantAdmin('other'))
    const unknown = await otherTenant(`POST ${root}/endpoint-deletions`, { select: { endpointIds: ids } })
    assert.equal(unknown.status, 404, unknown.text)
    const none = await otherTenant(`POST ${root}/endpoint-deletions`, { select: { applicationName: app } })
    assert.equal(none.body.counts.total, 0, none.text)
    const moved = await otherTenant(`POST ${root}/version-changes`, { select: { all: true }, versionName: `${app}-v2` })
    assert.equal(moved.status, 400, moved.text)
    assert.equal((await waypost.as(undefined)(`POST ${root}/endpoint-deletions`, {})).status, 401)
  })

  test('a caller sees its own jobs, and with the scope also all jobs of the tenant or of an application', async () => {
    const { app } = await fleet(1)
    const select = { applicationName: app }
    const permissions = { [`application-${app}`]: ['endpoint:read', 'endpoint:update'] }
    const ada = waypost.as(aCaller({ id: 'ada', on: permissions }))
    const { jobId } = await create('metadata-patches', { select, merge: { a: 1 }, preview: true }, ada)
    const idsFor = async (ask: Ask, filter = '') =>
      (await ask(`GET ${root}?limit=1000${filter}`)).body.content.map((job: { jobId: string }) => job.jobId)
    const bob = waypost.as(aCaller({ id: 'bob', on: permissions }))
    const reader = waypost.as(aCaller({ on: { [`application-${app}`]: ['application:job:read'] } }))
    const others = waypost.as(aCaller({ on: { 'application-other': ['application:job:read'] } }))
    const otherTenant = waypost.as(aTenantAdmin('other'))
    assert.deepEqual(await idsFor(ada), [jobId])
    assert.deepEqual(await idsFor(reader), [jobId])
    assert.ok((await idsFor(admin)).includes(jobId))
    assert.deepEqual(await idsFor(admin, `&applicationName=${app}`), [jobId])
    assert.ok(!(await idsFor(admin, '&own=true')).includes(jobId))
    for (const ask of [bob, others, otherTenant]) {
      assert.ok(!(await idsFor(ask)).includes(jobId))
      for (const [operation, path] of [
        ['GET', ''],
        ['GET', '/items'],
        ['POST', '/start'],
        ['POST', '/cancel'],
      ]) {
        const answer = await ask(`${operation} ${root}/${jobId}${path}`)
        const missing = await ask(`${operation} ${root}/missing${path}`)
        assert.deepEqual([answer.status, answer.text.replaceAll(jobId, 'missing')], [404, missing.text])
      }
    }
    assert.equal((await reader(`GET ${root}/${jobId}/items`)).body.totalElements, 1)
    assert.equal((await reader(`POST ${root}/${jobId}/start`)).status, 403)
    assert.equal(
      (await admin(`POST ${root}/${jobId}/start`)).status,
      403,
      'the job must act with the permissions of its creator',
    )
    assert.equal((await reader(`POST ${root}/${jobId}/cancel`)).status, 403)
    assert.equal((await admin(`POST ${root}/${jobId}/cancel`)).status, 200)
  })
})

test('the list of jobs shows the tasks of all services, without their secrets', async () => {
  const { app, version } = await fleet(0)
  const ada = waypost.as({ ...aTenantAdmin(), username: 'ada' })
  const batch = await ada(`POST ${endpoints}/batch`, {
    appVersion: { name: version },
    endpoints: [{ endpointId: `${app}-b`, endpointToken: 'SECRET7' }, { endpointToken: 'SECRET7' }],
  })
  await ada(`POST /epr/api/v1/applications/${app}/filters`, { name: 'f', documentQuery: { 'metadata.a': 1 } })
  const { body } = await admin(`GET ${root}${query({ applicationName: app })}`)
  assert.deepEqual(
    body.content.map((job: { kind: string; title: string; hasItems: boolean }) => [job.kind, job.title, job.hasItems]),
    [
      ['register.match-filter', 'Match a filter', false],
      ['register.batch', 'Register endpoints', true],
    ],
  )
  assert.deepEqual(
    body.content.map((job: { owner: { name?: string } }) => job.owner.name),
    ['ada', 'ada'],
  )
  await ended(batch.body.taskId)
  const items = await itemsOf(batch.body.taskId)
  assert.deepEqual(items.content[0], { position: 0, state: 'succeeded', endpointId: `${app}-b` })
  assert.match(items.content[1].reason, /already has this endpointToken/)
  assert.doesNotMatch(JSON.stringify(items), /SECRET7/)
  const ofKind = await admin(`GET ${root}${query({ applicationName: app, kind: 'register.batch', state: 'finished' })}`)
  assert.equal(ofKind.body.totalElements, 1)
  const matching = body.content[0].jobId
  assert.equal((await admin(`POST ${root}/${matching}/cancel`)).status, 409)
  assert.deepEqual((await itemsOf(matching)).content, [])
})

test('the number of jobs of a tenant that have not ended is limited', async () => {
  const { db, bulk } = kit
  const { app } = await fleet(1)
  const ask = waypost.as(aTenantAdmin())
  const open: string[] = []
  for (;;) {
    const answer = await ask(`POST ${root}/endpoint-deletions`, { select: { applicationName: app }, preview: true })
    if (answer.status === 409) break
    assert.ok(open.push(answer.body.jobId) <= 50, answer.text)
  }
  for (const jobId of open) await db.tx((sql) => bulk.cancel(sql, jobId))
  await create('endpoint-deletions', { select: { applicationName: app } })
})
