import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { bearer, client, tokenOf } from '../../test/harness/client.ts'
import { afterAllTests } from '../../test/harness/database.ts'
import { aDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createFixtures } from '../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../test/harness/in-process-platform.ts'

const megabyte = 1_000_000
const directory = mkdtempSync(join(tmpdir(), 'waypost-disk-'))

const mount = ['-t', 'tmpfs', '-o', 'size=200m', 'none', directory]
const { status, stderr } = spawnSync('mount', mount, { encoding: 'utf8' })
if (status !== 0) throw new Error(`A full disk needs a small filesystem. As root: mount ${mount.join(' ')}\n${stderr}`)
afterAllTests(() => {
  execFileSync('umount', ['-l', directory])
  rmSync(directory, { recursive: true, force: true })
})
// The database is on another, larger disk, so only the data directory is short of space.
const platform = await openInProcessPlatform({
  WAYPOST_DATA: directory,
  WAYPOST_LOG_LEVEL: 'fatal',
  WAYPOST_DISK_FREE_MIN_MB: '100',
})
const { ask, baseUrl, mqttUrl, waypost } = platform
const { anApplication, anEndpoint } = createFixtures(ask)
const file = join(directory, 'fills-the-disk')
const fill = async () => {
  writeFileSync(file, Buffer.alloc(150 * megabyte))
  await eventually(() => assert.equal(waypost.kit.diskSpace.isLow, true))
}
const free = async () => {
  rmSync(file)
  await eventually(() => assert.equal(waypost.kit.diskSpace.isLow, false))
}

test('without free space, changes are answered with 507 and messages with 503, while reading, logins and deletions work; changes work again when space is free', async () => {
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  const extra = await anEndpoint(version)
  const topic = `kp1/${version}/dcx/${token}/json`
  const send = () => fetch(`${baseUrl}/${topic}`, { method: 'POST', body: '{"a":1}' })
  assert.equal((await send()).status, 200)

  await fill()
  const refused = await ask('POST /api/v1/applications', { name: 'too-late' })
  assert.equal(refused.status, 507, refused.text)
  assert.match(refused.body.message, /too little space/)
  assert.equal((await ask(`PATCH /api/v1/applications/${app}`, { description: 'x' })).status, 507)
  const unsent = await send()
  const { statusCode } = (await unsent.json()) as { statusCode: number }
  assert.deepEqual([unsent.status, statusCode], [503, 503])
  assert.equal(unsent.headers.get('retry-after'), '60')

  const old = await aDevice(mqttUrl, { protocolVersion: 4 })
  const acknowledged = old.publish(`${topic}/1`, { a: 2 }).then(() => 'acknowledged')
  assert.equal(await Promise.race([acknowledged, old.closed().then(() => 'closed')]), 'closed')
  const modern = await aDevice(mqttUrl, { protocolVersion: 5 })
  await assert.rejects(modern.publish(`${topic}/2`, { a: 3 }), (error: { code?: number }) => error.code === 0x80)

  assert.equal((await ask(`GET /epr/api/v1/endpoints/${endpointId}`)).status, 200)
  const search = await ask('POST /am/api/v1/assets/list', {})
  assert.equal(search.status, 200, search.text)
  const { default: realm } = JSON.parse(readFileSync(join(platform.directory, 'bootstrap.json'), 'utf8'))
  const { id, secret } = realm.backendClient
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  const again = client(baseUrl, bearer(await tokenOf(baseUrl, realm.tenantId, grant)))
  assert.equal((await again(`DELETE /epr/api/v1/endpoints/${extra.endpointId}`)).status, 204)
  assert.match(await waypost.kit.metrics.text(), /waypost_disk_low 1\n/)
  assert.match(await waypost.kit.metrics.text(), /waypost_disk_free_bytes\{volume="data"\} \d+/)

  await free()
  assert.equal((await ask('POST /api/v1/applications', { name: 'in-time' })).status, 201)
  assert.equal((await send()).status, 200)
  const points = await ask(`GET /epts/api/v1/applications/${app}/time-series/last?timeSeriesName=auto~a`)
  assert.equal(points.status, 200, points.text)
})
