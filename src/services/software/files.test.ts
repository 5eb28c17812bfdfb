import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openSoftware } from '../../../test/harness/software.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { verifyLink } from './links.ts'

const authorization = 'Bearer admin'
let clockOffsetMs = 0
const at = await openSoftware({
  authenticate: () => async (headers) =>
    headers.authorization === authorization
      ? aTenantAdmin()
      : headers.authorization === 'Bearer other'
        ? aTenantAdmin('other')
        : headers.authorization === 'Bearer without-permissions'
          ? aCaller()
          : undefined,
  environment: { WAYPOST_BLOB_QUOTA_MB: '3', WAYPOST_SOFTWARE_LINK_TTL_SECONDS: '60' },
  now: () => new Date(Date.now() + clockOffsetMs),
})
const { admin, device, waypost, httpUrl, aFleet, sendAsDevice, report, requestVersion } = at
const { sql } = waypost.kit.db

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const put = (path: string, body: Uint8Array | ReadableStream, headers: Record<string, string> = {}) =>
  fetch(httpUrl + path, {
    method: 'PUT',
    body,
    headers: { authorization, ...headers },
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit)
const get = (path: string, headers: Record<string, string> = {}) => fetch(httpUrl + path, { headers })
/** Returns path and query of a link that a device got. */
const pathOf = (link: string) => {
  assert.ok(link.startsWith(waypost.baseUrl), link)
  return link.slice(waypost.baseUrl.length)
}
const usage = async () =>
  (await sql`select coalesce(sum(bytes), 0)::bigint as bytes from binary_data.usage where tenant_id = 'default'`)[0]!
    .bytes

/** Creates a fleet with an endpoint on 1.0.0, and a version 2.0.0 that needs a file. */
async function aFleetWithFile() {
  const fleet = await aFleet()
  await fleet.release('1.0.0')
  await fleet.release('2.0.0', {
    upgradableFrom: ['1.0.0'],
    skipDispatchingToEndpoint: true,
    specification: { link: 'own', a: 1 },
  })
  const endpoint = await fleet.anEndpoint()
  await report(endpoint.topic, '1.0.0')
  return { ...fleet, ...endpoint, file: `${fleet.software}/2.0.0/file` }
}

suite('a software file', () => {
  test('a software file is uploaded, shown, and offered to devices by a link with ranges', async () => {
    const { software, file, topic, endpointId, read, version } = await aFleetWithFile()
    assert.equal(await requestVersion(topic), undefined)
    const sensor = await device()
    await sensor.publish(`kp1/${version}/cmx_ota/${topic.split('/').at(-1)}/config/json/1`)
    await sensor.receives(`${topic}/config/json/1/status`)
    const content = randomBytes(300_000)
    const checksum = sha256(content)
    const uploaded = await put(`${file}?filename=firmware.bin`, content)
    assert.deepEqual([uploaded.status, uploaded.headers.get('etag')], [204, `"${checksum}"`])
    const { fileSize, fileChecksum, filename } = await read('/2.0.0')
    assert.deepEqual([fileSize, fileChecksum, filename], [300_000, checksum, 'firmware.bin'])
    const { config } = (await sensor.receives(`${topic}/config/json/status`)).json
    assert.deepEqual(Object.keys(config), ['link', 'a'])
    assert.ok(config.link.startsWith(`${waypost.baseUrl}${file}?expires=`), config.link)
    assert.equal((await read(`/endpoints/${endpointId}`)).state, 'offered')

    const whole = await get(pathOf(config.link))
    assert.equal(whole.status, 200)
    assert.equal(whole.headers.get('content-length'), '300000')
    assert.match(whole.headers.get('content-disposition')!, /firmware\.bin/)
    assert.equal(whole.headers.get('repr-digest'), `sha-256=:${Buffer.from(checksum, 'hex').toString('base64')}:`)
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()), content)
    const etag = whole.headers.get('etag')!
    const rest = await get(pathOf(config.link), { range: 'bytes=299990-', 'if-range': etag })
    assert.deepEqual([rest.status, rest.headers.get('content-range')], [206, 'bytes 299990-299999/300000'])
    assert.deepEqual(Buffer.from(await rest.arrayBuffer()), content.subarray(299_990))
    assert.equal((await get(pathOf(config.link), { range: 'bytes=300000-' })).status, 416)
    assert.equal((await get(pathOf(config.link), { 'if-none-match': etag })).status, 304)
    const withoutLink = await get(file, { authorization })
    assert.deepEqual([withoutLink.status, sha256(Buffer.from(await withoutLink.arrayBuffer()))], [200, checksum])
    assert.equal((await get(file)).status, 401)
    for (const who of ['Bearer other', 'Bearer without-permissions'])
      assert.equal((await get(file, { authorization: who })).status, 404)
    assert.equal((await get(`${software}/1.0.0/file`, { authorization })).status, 404)
  })

  test('a link downloads one content until the link expires, and a changed link is rejected', async () => {
    const { software, file, topic } = await aFleetWithFile()
    assert.equal((await put(`${file}?filename=a`, Buffer.from('first'))).status, 204)
    const linked = async () => pathOf((await sendAsDevice(topic, '/config/json')).body.config.link)
    const link = await linked()
    assert.notEqual(link, await linked())
    const [path, query] = link.split('?') as [string, string]
    const { expires, signature } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>
    const later = `expires=${Number(expires) + 1}&signature=${signature}`
    for (const wrong of [
      `${path}?${later}`,
      `${path}?expires=${expires}&signature=${signature}x`,
      `${path}?expires=${expires}&signature=`,
      `${path}?expires=${expires}&signature=v1.AAAA`,
      `${path}?signature=${signature}`,
      `${path.replace('2.0.0', '1.0.0')}?${query}`,
      `${path.replace(/applications\/[^/]+/, 'applications/x')}?${query}`,
    ])
      assert.equal((await get(wrong, { authorization })).status, 403, wrong)
    const both = `${link}&signature=again`
    assert.ok([400, 403].includes((await get(both)).status))
    const secret = waypost.kit.secrets.seal('something else\nthat was\nsealed')
    const version = { applicationName: 'a', version: '1.0.0' }
    assert.equal(verifyLink(waypost.kit.secrets, version, { expires: '0', signature: secret }, 0), undefined)
    clockOffsetMs = 61_000
    try {
      assert.equal((await get(link)).status, 403)
    } finally {
      clockOffsetMs = 0
    }
    assert.equal(await (await get(link)).text(), 'first')
    assert.equal((await put(`${file}?filename=b`, Buffer.from('second'))).status, 204)
    assert.equal((await get(link)).status, 404)
    const fresh = await linked()
    assert.equal(await (await get(fresh)).text(), 'second')
    assert.equal((await admin(`DELETE ${software}/2.0.0`)).status, 204)
    assert.equal((await get(fresh)).status, 404)
  })

  test('a software file with a wrong name or for a wrong specification is rejected, and no content of a rejected upload remains', async () => {
    const { software, release, read } = await aFleet()
    await release('1.0.0', { filename: 'fixed.bin' })
    await release('2.0.0', { specification: [1] })
    await release('3.0.0')
    const before = await usage()
    const bytes = Buffer.from('x')
    const cases: [string, number, RegExp?, Record<string, string>?][] = [
      [`${software}/1.0.0/file?filename=other.bin`, 400, /filename/],
      [`${software}/2.0.0/file?filename=a`, 400, /specification/],
      [`${software}/3.0.0/file`, 400, /filename/],
      [`${software}/3.0.0/file?filename=a%2Fb`, 400, /filename/],
      [`${software}/3.0.0/file?filename=..`, 400, /filename/],
      [`${software}/3.0.0/file?filename=a%00`, 400],
      [`${software}/3.0.0/file?filename=${'x'.repeat(256)}`, 400, /filename/],
      [`${software}/9.0.0/file?filename=a`, 404],
      [`${software}/3.0.0/file?filename=a`, 400, /Content-Range/, { 'content-range': 'bytes 1-1/2' }],
      [`${software}/3.0.0/file?filename=a`, 400, /Content-Digest/, { 'content-digest': 'sha-256=:AAAA:' }],
      [
        `${software}/3.0.0/file?filename=a`,
        400,
        /Content-Digest/,
        { 'content-digest': `sha-256=:${Buffer.alloc(32).toString('base64')}:` },
      ],
    ]
    for (const [path, status, problem, headers] of cases) {
      const answer = await put(path, bytes, headers)
      assert.equal(answer.status, status, path)
      if (problem) assert.match(await answer.text(), problem)
    }
    for (const who of ['Bearer other', 'Bearer without-permissions'])
      assert.equal((await put(`${software}/3.0.0/file?filename=a`, bytes, { authorization: who })).status, 404)
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) assert.equal((await read(`/${version}`)).fileSize, undefined)
    assert.equal((await put(`${software}/1.0.0/file`, bytes)).status, 204)
    assert.equal(await usage(), before + 1)
    assert.equal((await admin(`POST ${software}/4.0.0`, { rolloutStrategy: 'general', filename: 'a/b' })).status, 400)
  })

  test('a software file counts towards the quota, is replaced completely, and is deleted with its version, application and tenant', async () => {
    const { app, software, release } = await aFleet()
    await release('1.0.0')
    const file = `${software}/1.0.0/file?filename=a`
    const before = await usage()
    const stream = () =>
      new ReadableStream({
        start(controller) {
          for (let n = 0; n < 50; n++) controller.enqueue(randomBytes(100_000))
          controller.close()
        },
      })
    assert.equal((await put(file, stream())).status, 413)
    assert.equal((await put(file, randomBytes(1_000_000))).status, 204)
    assert.equal((await put(file, randomBytes(1_500_000))).status, 204)
    assert.equal(await usage(), before + 1_500_000)
    assert.equal((await admin(`DELETE ${software}/1.0.0`)).status, 204)
    assert.equal(await usage(), before)
    await release('1.0.0')
    assert.equal((await put(file, randomBytes(10))).status, 204)
    assert.equal((await admin(`DELETE /api/v1/applications/${app}`)).status, 204)
    await eventually(async () => assert.equal(await usage(), before))
  })
})

test('software is deleted with its tenant', async () => {
  const other = at.other
  const { release, software, app, anEndpoint } = await aFleet(other)
  await release('1.0.0')
  const { topic } = await anEndpoint()
  await report(topic, '1.0.0')
  assert.equal(
    (await put(`${software}/1.0.0/file?filename=a`, Buffer.from('x'), { authorization: 'Bearer other' })).status,
    204,
  )
  const { db, bus } = waypost.kit
  await db.tx((tx) => bus.publish(tx, TenantDeleted, { tenantId: 'other' }))
  await eventually(
    async () => {
      for (const table of ['versions', 'applications', 'endpoints', 'reports', 'report_counts'])
        assert.equal(
          (await sql`select from ${sql.unsafe(`software.${table}`)} where tenant_id = 'other'`).length,
          0,
          table,
        )
      assert.equal((await sql`select from binary_data.service_contents where tenant_id = 'other'`).length, 0)
    },
    { withinMs: 15_000 },
  )
  assert.ok(app)
})
