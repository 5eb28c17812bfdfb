import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import identity from '../../identity/index.ts'
import { Applications } from './contract.ts'
import applications from './index.ts'

test('a read during continuous writes never returns a state that is older than the last acknowledged write', {
  timeout: 60_000,
}, async () => {
  const waypost = await openTestPlatform({ services: [applications, identity] })
  await addRealms(waypost, 'default')
  const admin = waypost.as(aTenantAdmin())
  await admin('POST /api/v1/applications', { name: 'busy', displayName: '0' })
  let written = 0
  let done = false
  const reader = async (path: string, shown: (body: never) => string) => {
    let reads = 0
    for (; !done; reads++) {
      const before = written
      const { body } = await admin(`GET ${path}`)
      assert.ok(
        Number(shown(body as never)) >= before,
        `a read returned ${shown(body as never)} after the write of ${before} was acknowledged`,
      )
      // Injected requests use no socket, so the loop yields here. Otherwise responses of the database would not be processed.
      await setImmediate()
    }
    return reads
  }
  type Shown = { displayName: string }
  const readers = [
    reader('/api/v1/applications/busy', (body: Shown) => body.displayName),
    reader('/api/v1/applications/busy', (body: Shown) => body.displayName),
    reader('/api/v1/applications', (body: Shown[]) => body[0]!.displayName),
  ]
  for (let value = 1; value <= 30; value++) {
    assert.equal((await admin('PATCH /api/v1/applications/busy', { displayName: String(value) })).status, 204)
    written = value
  }
  done = true
  for (const reads of await Promise.all(readers)) assert.ok(reads > 10)
})

test('if a version is deleted and another tenant creates a version with the same name, the new version has no configuration', async () => {
  const waypost = await openTestPlatform({ services: [applications, identity] })
  await addRealms(waypost, 'default', 'other')
  const configOf = waypost
    .ask(Applications)
    .derivedConfiguration(waypost.kit.instances.get('epmx')!, (config) => config)
  const follow = async (tenantId: string) => configOf({ tenantId, applicationName: 'a', versionName: 'a-v1' })
  const prepare = async (tenantId: string, config?: object) => {
    const admin = waypost.as(aTenantAdmin(tenantId))
    assert.equal((await admin('POST /api/v1/applications', { name: 'a' })).status, 201)
    assert.equal((await admin('POST /api/v1/applications/a/app-versions', { nameSuffix: 'v1' })).status, 201)
    if (!config) return admin
    const all = { epmx: { platform: { applications: { a: config } } } }
    assert.equal((await admin('PUT /api/v1/app-configs/applications/a', all)).status, 204)
    return admin
  }
  const config = { 'metadata-keys': { place: { 'write-enabled': true } } }
  const admin = await prepare('default', config)
  assert.deepEqual(await follow('default'), config)
  assert.equal((await admin('DELETE /api/v1/applications/a')).status, 204)
  await prepare('other')
  assert.deepEqual(await follow('other'), {})
})
