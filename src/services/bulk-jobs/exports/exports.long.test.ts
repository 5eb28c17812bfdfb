import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Ask, bearer, client, tokenOf } from '../../../../test/harness/client.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { createFixtures } from '../../../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../../../test/harness/in-process-platform.ts'
import { findTables } from '../../../kernel/backup/inventory.ts'
import { TimeSeries } from '../../time-series/contract.ts'
import { TrafficLog } from '../../traffic-log/contract.ts'
import { ExportEndpoints } from './exports.ts'

const { ask, baseUrl, directory, waypost } = await openInProcessPlatform({ WAYPOST_LOG_LEVEL: 'fatal' })
const { kit } = waypost
const bootstrap = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
const { anApplication, anEndpoint } = createFixtures(ask)
const root = '/jobs/api/v1/jobs'
const { id, secret } = bootstrap.default.backendClient
const token = await tokenOf(baseUrl, 'default', {
  grant_type: 'client_credentials',
  client_id: id,
  client_secret: secret,
})

async function create(kind: string, body: object, by: Ask = ask): Promise<string> {
  const answer = await by(`POST ${root}/${kind}`, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.jobId
}
const ended = (jobId: string, by: Ask = ask) =>
  eventually(async () => {
    const { body } = await by(`GET ${root}/${jobId}`)
    assert.ok(body.finishedDate, JSON.stringify(body))
    return body
  })
const download = async (jobId: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${baseUrl}${root}/${jobId}/file`, { headers: { ...bearer(token), ...headers } })
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}
async function exported(kind: string, body: object) {
  const jobId = await create(kind, body)
  const job = await ended(jobId)
  assert.equal(job.state, 'finished', JSON.stringify(job))
  const { response, bytes } = await download(jobId)
  assert.equal(response.status, 200, bytes.toString())
  assert.equal(bytes.length, job.file.size)
  return { jobId, job, response, bytes, text: bytes.toString() }
}
const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== '')
const users = new Map<string, string>()
/** Creates a user with roles and returns a client for it. */
async function aUser(username: string, roles: string[], by: Ask = ask) {
  const password = 'a-Long-passw0rd-for-tests'
  const user = await by('POST /iam/api/v1/users', { username, password })
  assert.equal(user.status, 201, user.text)
  users.set(username, user.body.id)
  assert.equal((await by(`PUT /iam/api/v1/users/${user.body.id}/roles`, roles)).status, 204)
  const grant = { grant_type: 'password', client_id: bootstrap.default.frontendClient.id, username, password }
  return client(baseUrl, bearer(await tokenOf(baseUrl, 'default', grant)))
}

suite('an export of endpoints', () => {
  test('an export of endpoints has a line for each endpoint; numbers are not quoted, and texts cannot act as formulas of a spreadsheet', async () => {
    const { app, version } = await anApplication()
    const register = async (endpointId: string, metadata: object) => {
      const answer = await ask('POST /epr/api/v1/endpoints', { appVersion: { name: version }, endpointId, metadata })
      assert.equal(answer.status, 201, answer.text)
    }
    await register(`${app}-1`, { name: '=HYPERLINK("http://a.example","x")', n: -5, tags: ['a', 'b'] })
    await register(`${app}-2`, { name: 'Kyiv, "old" town\nsecond line', n: 1.5 })
    const { text, response, job } = await exported('endpoint-exports', {
      select: { applicationName: app },
      metadataKeys: ['name', 'n', 'tags'],
      format: 'csv',
    })
    const [header, first, ...rest] = text.split('\r\n')
    assert.equal(header, 'endpointId,applicationName,versionName,createdDate,metadataUpdatedDate,name,n,tags')
    assert.match(first!, new RegExp(`^${app}-1,${app},${version},[^,]+Z,[^,]+Z,"'=HYPERLINK\\(""http`))
    assert.ok(first!.endsWith(',-5,"[""a"",""b""]"'), first)
    assert.ok(rest.join('\r\n').includes(',"Kyiv, ""old"" town\nsecond line",1.5,\r\n'), text)
    assert.deepEqual([job.kind, job.counts.succeeded, job.applicationName], ['jobs.export-endpoints', 2, app])
    assert.match(response.headers.get('content-disposition')!, /^attachment; filename="endpoints-[\dTZ-]+\.csv"/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')

    const lines = await exported('endpoint-exports', {
      select: { applicationName: app, and: [{ key: 'n', operator: 'IN', values: [1.5] }] },
      format: 'ndjson',
      gzip: true,
    })
    assert.match(lines.job.file.name, /\.ndjson\.gz$/)
    const [only, ...others] = linesOf(gunzipSync(lines.bytes).toString()).map((line) => JSON.parse(line))
    assert.deepEqual([only.endpointId, only.metadata.n, others], [`${app}-2`, 1.5, []])
  })

  test('an export of endpoints is stored in parts; the parts form one file, of which ranges can be read', async () => {
    const { app, version } = await anApplication()
    const padding = 'x'.repeat(9000)
    await kit.db.sql`
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date, created_date, metadata)
      select ${app} || '-' || lpad(n::text, 4, '0'), 'default', ${app}, ${version}, now(), now(), jsonb_build_object('p', ${padding}::text)
      from generate_series(1, 2300) n`
    const body = { select: { applicationName: app }, format: 'ndjson' }
    const plain = await exported('endpoint-exports', body)
    const [parts] = await kit.db.sql`select count(*) from bulk_jobs.export_parts where task_id = ${plain.jobId}`
    assert.ok(parts!.count > 1, `${parts!.count} parts`)
    const ids = linesOf(plain.text).map((line) => JSON.parse(line).endpointId)
    assert.equal(ids.length, 2300)
    assert.deepEqual(ids, ids.toSorted())
    const [first] = await kit.db
      .sql`select size from bulk_jobs.export_parts where task_id = ${plain.jobId} and part = 0`
    const size: number = first!.size
    const range = await download(plain.jobId, { range: `bytes=${size - 10}-${size + 9}` })
    assert.equal(range.response.status, 206)
    assert.deepEqual(range.bytes, plain.bytes.subarray(size - 10, size + 10))
    assert.equal((await download(plain.jobId, { range: `bytes=${plain.bytes.length}-` })).response.status, 416)
    const etag = plain.response.headers.get('etag')!
    assert.equal((await download(plain.jobId, { 'if-none-match': etag })).response.status, 304)
    const zipped = await exported('endpoint-exports', { ...body, gzip: true })
    assert.deepEqual(gunzipSync(zipped.bytes), plain.bytes)
  })
})

test('an export of time series has the same points as a query: as CSV, as lines of JSON, and by days of a time zone', async () => {
  const { app, version } = await anApplication()
  const endpoints = [await anEndpoint(version), await anEndpoint(version)].sort((a, b) =>
    a.endpointId < b.endpointId ? -1 : 1,
  )
  const start = Date.UTC(2026, 2, 28)
  const points = endpoints.flatMap(({ endpointId }, index) =>
    Array.from({ length: 30 }, (_, hour) => ({
      endpointId,
      seriesName: 's',
      timestamp: start + hour * 3_600_000,
      values: { value: hour + index, ...(hour === 3 && { note: '=1+1' }) },
    })),
  )
  await waypost.ask(TimeSeries).putPoints({ tenantId: 'default', applicationName: app, versionName: version }, points)
  const span = { fromDate: '2026-03-01', toDate: '2026-04-01' }
  const request = { applicationName: app, timeSeriesNames: ['s'], ...span }
  const query = new URLSearchParams({ timeSeriesName: 's', ...span, format: 'csv' })
  const answer = await fetch(`${baseUrl}/epts/api/v1/applications/${app}/time-series/data?${query}`, {
    headers: bearer(token),
  })
  const { text, job } = await exported('series-exports', { ...request, format: 'csv' })
  assert.equal(text, await answer.text())
  assert.match(text, /,'=1\+1,3\r\n/)
  assert.equal(job.counts.succeeded, 60)
  // As in queries of time series, a date may be a number of milliseconds.
  const numbers = { fromDate: Date.parse(span.fromDate), toDate: Date.parse(span.toDate) }
  assert.equal((await exported('series-exports', { ...request, ...numbers, format: 'csv' })).text, text)
  const lines = await exported('series-exports', { ...request, format: 'ndjson', gzip: true })
  const parsed = linesOf(gunzipSync(lines.bytes).toString()).map((line) => JSON.parse(line))
  assert.deepEqual(
    parsed.map(({ timestamp, ...rest }) => ({ ...rest, timestamp: Date.parse(timestamp) })),
    points.map(({ endpointId, seriesName: series, timestamp, values }) => ({ endpointId, series, timestamp, values })),
  )
  const days = await exported('series-exports', {
    ...request,
    endpointIds: [endpoints[0]!.endpointId],
    aggregate: 'count',
    interval: '1d',
    timeZone: 'Europe/Berlin',
    format: 'ndjson',
  })
  assert.deepEqual(
    linesOf(days.text)
      .map((line) => JSON.parse(line))
      .map(({ timestamp, values }) => [timestamp, values.value]),
    [
      ['2026-03-27T23:00:00.000Z', 23],
      ['2026-03-28T23:00:00.000Z', 7],
    ],
  )
})

test('an export of traffic has every record once, ordered by time', async () => {
  const { app, version } = await anApplication()
  const { endpointId } = await anEndpoint(version)
  const log = waypost.ask(TrafficLog)
  const at = Date.now() - 60_000
  const record = (n: number, payload: Buffer) =>
    log.record({
      correlationId: `c-${String(n).padStart(4, '0')}`,
      direction: 'INBOUND',
      tenantId: 'default',
      applicationName: app,
      versionName: version,
      endpointId,
      extension: 'dcx',
      resourcePath: '/json',
      requestId: n,
      payload,
      // Many records have the same time.
      createdAt: new Date(at + Math.floor(n / 400)),
    })
  await Promise.all(Array.from({ length: 1500 }, (_, n) => record(n, Buffer.from(`{"n":${n}}`))))
  await record(1500, Buffer.from([0xff, 0x00, 0x01]))
  const body = { endpointIds: [endpointId], fromCreatedAt: new Date(at - 1000).toISOString(), format: 'ndjson' }
  const { text, job } = await exported('traffic-exports', body)
  const records = linesOf(text).map((line) => JSON.parse(line))
  assert.equal(job.counts.succeeded, 1501)
  assert.deepEqual(
    records.map(({ requestId }) => requestId),
    Array.from({ length: 1501 }, (_, n) => n),
  )
  assert.deepEqual([records[7].payload, records[1500].additionalMetadata.encoding], ['{"n":7}', 'base64'])
  const csv = await exported('traffic-exports', { ...body, payload: '"n":7}', format: 'csv' })
  assert.deepEqual(
    linesOf(csv.text)[0],
    'createdAt,direction,endpointId,appVersionName,extension,resourcePath,requestId,correlationId,payload,additionalMetadata',
  )
  assert.match(linesOf(csv.text)[1]!, /,7,c-0007,"\{""n"":7\}",/)
})

suite('files of exports', () => {
  test('only the creator of an export can read its file, which is deleted when it expires', async () => {
    const { app } = await anApplication()
    const body = { select: { applicationName: app }, format: 'csv' }
    const { jobId } = await exported('endpoint-exports', body)
    const admin = await aUser('other-admin', ['tenant-admin'])
    assert.equal((await admin(`GET ${root}/${jobId}`)).status, 200)
    assert.equal((await admin(`GET ${root}/${jobId}/file`)).status, 403)
    const reader = await aUser('no-rights', [])
    assert.equal((await reader(`GET ${root}/${jobId}/file`)).status, 404)
    assert.equal((await client(baseUrl)(`GET ${root}/${jobId}/file`)).status, 401)
    assert.equal((await ask(`GET ${root}/none/file`)).status, 404)
    await kit.db.sql`update bulk_jobs.exports set expires_at = now() where task_id = ${jobId}`
    assert.equal((await ask(`GET ${root}/${jobId}/file`)).status, 404)
    assert.equal((await ask(`GET ${root}/${jobId}`)).body.file, undefined)
    const used = async () =>
      (await kit.db.sql`select count(*) from binary_data.service_contents where service = 'jobs'`)[0]!.count
    const before = await used()
    const periodic = waypost.built.get('jobs')!.periodic!.find(({ name }) => name === 'jobs.delete-files')!
    await periodic.run(undefined as never)
    assert.ok((await used()) < before)
    assert.equal((await kit.db.sql`select from bulk_jobs.exports where task_id = ${jobId}`).count, 0)
  })

  test('a backup contains each table of exports and jobs once', async () => {
    const tables = await findTables(kit.db.sql, ['bulk_jobs'])
    const names = tables.map(({ name }) => name)
    for (const name of ['exports', 'export_parts', 'job'])
      assert.equal(names.filter((one) => one === name).length, 1, `a backup must contain ${name} once: ${names}`)
  })

  test('an export is canceled if its creator has lost access to the platform', async () => {
    const { app } = await anApplication()
    const eve = await aUser('eve', ['endpoint-reader', 'application-reader'])
    const jobId = await create('endpoint-exports', { select: { applicationName: app }, format: 'csv' }, eve)
    assert.equal((await ended(jobId)).state, 'finished')
    assert.equal((await ask(`DELETE /iam/api/v1/users/${users.get('eve')}`)).status, 204)
    // The test makes the same export run again, as after a crash before its last part.
    await kit.db.tx(async (sql) => {
      await sql`update kernel.bulk_tasks set state = 'waiting', finished_at = null, cursor = 0 where task_id = ${jobId}`
      await sql`delete from bulk_jobs.export_parts where task_id = ${jobId}`
      await kit.jobs.send(sql, ExportEndpoints.job, { taskId: jobId })
    })
    const job = await ended(jobId)
    assert.deepEqual(
      [job.state, job.problem],
      ['canceled', 'the account that created the export has no access any more'],
    )
  })

  test('an export with bad input or without permission is rejected', async () => {
    const { app } = await anApplication()
    const span = { fromDate: 'now-1d', toDate: 'now' }
    for (const [kind, body, status] of [
      ['endpoint-exports', { select: { applicationName: app } }, 400],
      ['endpoint-exports', { select: { applicationName: app }, format: 'xml' }, 400],
      ['endpoint-exports', { select: {}, format: 'csv' }, 400],
      ['endpoint-exports', { select: { filterIds: ['none'] }, format: 'csv' }, 400],
      ['endpoint-exports', { select: { regex: '(' }, format: 'csv' }, 400],
      ['endpoint-exports', { select: { all: true }, format: 'csv', metadataKeys: ['a b'] }, 400],
      ['series-exports', { applicationName: app, ...span, format: 'csv', interval: '1h' }, 400],
      [
        'series-exports',
        { applicationName: app, ...span, format: 'csv', aggregate: 'avg', interval: '1d', timeZone: 'x' },
        400,
      ],
      ['series-exports', { applicationName: app, fromDate: 'now', toDate: 'now-1d', format: 'csv' }, 400],
      ['series-exports', { applicationName: 'nowhere', ...span, format: 'csv' }, 404],
      ['traffic-exports', { format: 'csv', fromCreatedAt: 'yesterday' }, 400],
      ['traffic-exports', { format: 'csv', fromCreatedAt: 'now', toCreatedAt: 'now-1d' }, 400],
      ['traffic-exports', { format: 'csv', endpointIds: [] }, 400],
    ] as const) {
      const answer = await ask(`POST ${root}/${kind}`, body)
      assert.equal(answer.status, status, `${kind} ${JSON.stringify(body)}: ${answer.text}`)
    }
    const stranger = await aUser('stranger', [])
    const series = await stranger(`POST ${root}/series-exports`, { applicationName: app, ...span, format: 'csv' })
    assert.equal(series.status, 404, series.text)
    for (const [kind, body] of [
      ['endpoint-exports', { select: { all: true }, format: 'csv' }],
      ['traffic-exports', { format: 'ndjson' }],
    ] as const) {
      const jobId = await create(kind, body, stranger)
      assert.equal(
        (await ended(jobId, stranger)).counts.succeeded,
        0,
        'the export of a caller without permissions must contain no endpoint',
      )
    }
  })
})
