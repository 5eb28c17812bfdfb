import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Ask, bearer, client, requestToken, tokenOf } from '../../../test/harness/client.ts'
import { aDevice } from '../../../test/harness/device.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { createFixtures } from '../../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../../test/harness/in-process-platform.ts'

const { baseUrl, mqttUrl, directory, waypost } = await openInProcessPlatform({ WAYPOST_LOG_LEVEL: 'fatal' })
const bootstrap = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
const grantOf = ({ id, secret }: { id: string; secret: string }) => ({
  grant_type: 'client_credentials',
  client_id: id,
  client_secret: secret,
})
const platform = client(baseUrl, bearer(await tokenOf(baseUrl, 'platform', grantOf(bootstrap.platform.backendClient))))
const root = '/tenant-manager/api/v2'
const tenantPath = '/api/v1/tenants/acme'
const revision = async () => {
  const [row] = await waypost.kit.db.sql`select revision from identity.realms where tenant_id = 'acme'`
  return row!.revision
}
const waitUntilAvailable = () =>
  eventually(async () => assert.equal((await platform(`GET ${tenantPath}`)).body.status, 'AVAILABLE'))

const admin = { email: 'ada@acme.example', username: 'ada', first_name: 'Ada', last_name: 'Byron' }
const created = await platform(`POST ${root}/tenants`, { name: 'Acme', tenant_id: 'acme', admin })
assert.equal(created.status, 202, created.text)
await waitUntilAvailable()
const credentials = (await platform(`GET ${root}/tenants/${created.body.id}/credentials`)).body
const grant = grantOf({ id: credentials.client_backend_id, secret: credentials.client_backend_secret })
const acme: Ask = client(baseUrl, bearer(await tokenOf(baseUrl, 'acme', grant)))
const { aProvisionedEndpoint } = createFixtures(acme)

/** Logs in and sends samples continuously while `work` runs. Returns the requests that were refused. */
async function serveDuring(work: () => Promise<void>) {
  const { version, token } = await aProvisionedEndpoint()
  const device = await aDevice(mqttUrl)
  let isRunning = true
  const [refused, counts] = [[] as string[], { logins: 0, samples: 0, requests: 0 }]
  const repeat = async (kind: keyof typeof counts, once: () => Promise<string | undefined>) => {
    while (isRunning) {
      const problem = await once().catch((error) => String(error))
      if (problem !== undefined) refused.push(`${kind}: ${problem}`)
      counts[kind]++
    }
  }
  const loops = [
    repeat('logins', async () => {
      const { status, text } = await requestToken(baseUrl, 'acme', grant)
      return status === 200 ? undefined : `${status} ${text}`
    }),
    repeat('samples', async () => {
      if (!device.client.connected) return 'the device was disconnected'
      await device.publish(`kp1/${version}/dcx/${token}/json`, { a: 1 })
      return undefined
    }),
    repeat('requests', async () => {
      const { status, text } = await acme('GET /api/v1/applications')
      return status === 200 ? undefined : `${status} ${text}`
    }),
  ]
  await work()
  isRunning = false
  await Promise.all(loops)
  assert.ok(
    Object.values(counts).every((count) => count > 0),
    JSON.stringify(counts),
  )
  return refused
}

test('a PUT with the values that a tenant already has does not rebuild its realm, and leaves the tenant as it was', async () => {
  const before = await platform(`GET ${tenantPath}`)
  const realm = await revision()
  const fields = ['realm_template_version', 'realm_scopes_version', 'client_backend_version', 'client_frontend_version']
  const same = Object.fromEntries(
    [...fields, 'roles_version', 'resources_version'].map((name) => [name, before.body[name]]),
  )
  const refused = await serveDuring(async () => {
    const v1 = await platform(`PUT ${tenantPath}`, same)
    assert.deepEqual([v1.status, v1.body.status], [200, 'AVAILABLE'], v1.text)
    const v2 = await platform(`PUT ${root}/tenants/${created.body.id}`, { name: 'Acme', status: 'AVAILABLE' })
    assert.deepEqual([v2.status, v2.body.status], [200, 'AVAILABLE'], v2.text)
  })
  assert.deepEqual(refused, [])
  assert.equal(await revision(), realm)
  assert.deepEqual((await platform(`GET ${tenantPath}`)).body, before.body)
})

test('users and devices are served while the realm is rebuilt', async () => {
  const realm = await revision()
  const refused = await serveDuring(async () => {
    for (let round = 0; round < 3; round++) {
      const template = await platform('POST /api/v1/templates/realms', { template: {}, description: '' })
      const changed = await platform(`PUT ${tenantPath}`, { realm_template_version: template.body.id })
      assert.equal(changed.body.status, 'UPDATING', changed.text)
      await waitUntilAvailable()
    }
  })
  assert.deepEqual(refused.slice(0, 3), [])
  assert.notEqual(await revision(), realm)
})
