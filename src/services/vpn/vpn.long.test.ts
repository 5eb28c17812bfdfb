import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { TenantDeleted } from '../tenants/events.ts'
import vpn from './index.ts'

const environment = {
  WAYPOST_MASTER_KEY: 'a master key that both nodes of this test have',
  WAYPOST_BASE_URL: 'https://iot.example.org:8443',
}
const all = [...services, vpn]
const { waypost, admin, other, anApplication, anEndpoint } = await openGateway({ services: all, environment })
const root = '/vpms/api/v1/vpnclient'
const { sql } = waypost.kit.db
const ed25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk0Zk7ZNc8m4o0sI7nJtK7zB8V0d2cX9qJv3m1y5w6R'

async function aClient(input: object = {}, ask = admin) {
  const answer = await ask(`POST ${root}`, { name: 'pump', type: 'device', ...input })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

/** Returns the text of an inline file of a profile, such as `cert`. */
const partOf = (profile: string, name: string) =>
  profile.match(new RegExp(`^<${name}>\n([^]*?)\n</${name}>$`, 'm'))?.[1] ?? assert.fail(`no ${name} in ${profile}`)

const blocksOf = (text: string) => text.match(/-----BEGIN[\s\S]*?-----END [A-Z ]+-----/g)!

suite('VPN clients over HTTP', () => {
  test('a new client gets an address of the range of its type, and the list begins with the newest client', async () => {
    const created = await admin(`POST ${root}`, { name: 'pump-7', type: 'device' })
    assert.equal(created.status, 201, created.text)
    const { data } = created.body
    assert.equal(created.headers.location, `https://iot.example.org:8443${root}/${data.id}`)
    const { id, created: date, ipAddress, ...rest } = data
    assert.deepEqual(rest, {
      ...{ name: 'pump-7', description: '', state: 'active', type: 'device' },
      ...{ subnet: '10.80.0.0/20', sshKey: false, protocol: 'udp' },
    })
    assert.match(ipAddress, /^10\.80\.0\.\d+$/)
    assert.ok(Date.parse(date) > 0)
    assert.deepEqual((await admin(`GET ${root}/${id}`)).body, { data })
    const administrator = await aClient({ type: 'admin', protocol: 'tcp', username: 'root', sshKey: `${ed25519} a b` })
    assert.equal(administrator.subnet, '10.80.15.0/24')
    assert.match(administrator.ipAddress, /^10\.80\.15\.\d+$/)
    assert.deepEqual([administrator.username, administrator.sshKey, administrator.protocol], ['root', true, 'tcp'])
    const { body } = await admin(`GET ${root}?pageSize=2`)
    assert.deepEqual([body.data[0], body.data[1], body.page, body.pageSize], [administrator, data, 1, 2])
    assert.equal(body.server.running, false)
    assert.match(body.server.problem, /waypost vpn/)
  })

  test('a list can be filtered by exact ids, name, endpoint, state and address, and counts all matches', async () => {
    const [one, two] = [await aClient({ name: 'filter-a' }), await aClient({ name: 'filter-ab' })]
    const idsOf = async (query: string) => {
      const { status, body, text } = await admin(`GET ${root}?${query}`)
      assert.equal(status, 200, text)
      return body.data.map(({ id }: { id: string }) => id)
    }
    assert.deepEqual(await idsOf('name=filter-a'), [one.id])
    assert.deepEqual(await idsOf('name=filter'), [])
    assert.deepEqual(await idsOf(`ids=${one.id},${two.id}`), [two.id, one.id])
    assert.deepEqual(await idsOf(`ids=${one.id}&ids=nonsense`), [one.id])
    assert.deepEqual(await idsOf(`ids=${one.id}&state=revoked`), [])
    assert.deepEqual(await idsOf(`ipAddress=${two.ipAddress}&state=active`), [two.id])
    assert.deepEqual(await idsOf('endpointId=none'), [])
    const paged = await admin(`GET ${root}?ids=${one.id},${two.id}&page=2&pageSize=1`)
    assert.deepEqual([paged.body.data[0].id, paged.body.count, paged.body.page], [one.id, 2, 2])
    for (const [query, field] of [
      ['ipAddress=10.80.0', 'ipAddress'],
      ['state=gone', 'state'],
      ['page=0', 'page'],
      ['pageSize=10001', 'pageSize'],
    ]) {
      const { status, body } = await admin(`GET ${root}?${query}`)
      assert.equal(status, 400)
      assert.match(body.message, new RegExp(field!))
    }
  })

  const bad: [body: Record<string, unknown>, field: string][] = [
    [{ name: undefined }, 'name'],
    [{ name: 'x'.repeat(65) }, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ name: 'a\nremote evil 1' }, 'name'],
    [{ name: 'a\n' }, 'name'],
    [{ name: '../a' }, 'name'],
    [{ type: undefined }, 'type'],
    [{ type: 'root' }, 'type'],
    [{ protocol: 'sctp' }, 'protocol'],
    [{ protocol: null }, 'protocol'],
    [{ endpointId: 'no-such-endpoint' }, 'endpointId'],
    [{ description: 'x'.repeat(1001) }, 'description'],
    [{ username: '1abc' }, 'username'],
    [{ username: 'a'.repeat(33) }, 'username'],
    [{ username: 'a\nb' }, 'username'],
    [{ sshKey: '' }, 'sshKey'],
    [{ sshKey: 'ssh-ed25519 AAAA' }, 'sshKey'],
    [{ sshKey: `${ed25519}\n${ed25519}` }, 'sshKey'],
    [{ sshKey: `${ed25519} x\n` }, 'sshKey'],
    [{ colour: 'red' }, 'colour'],
    [{ id: 'mine' }, 'id'],
    [{ ipAddress: '10.80.0.9' }, 'ipAddress'],
    [{ state: 'active' }, 'state'],
  ]
  for (const [change, field] of bad)
    test(`creating with ${JSON.stringify(change).slice(0, 50)} is answered with 400 and the field ${field}`, async () => {
      const { status, body } = await admin(`POST ${root}`, { name: 'a', type: 'device', ...change })
      assert.equal(status, 400)
      assert.match(body.message, new RegExp(`^${field}: `))
    })

  test('key, user name and description can be changed, and an empty text removes the user name and the description', async () => {
    const { id } = await aClient()
    const put = async (field: string, body: object) => (await admin(`PUT ${root}/${id}/${field}`, body)).status
    const read = async () => (await admin(`GET ${root}/${id}`)).body.data
    assert.equal(await put('ssh-key', { sshKey: ed25519 }), 204)
    assert.equal(await put('username', { username: '_root.1-a' }), 204)
    assert.equal(await put('description', { description: 'x'.repeat(1000) }), 204)
    const { sshKey, username, description } = await read()
    assert.deepEqual([sshKey, username, description], [true, '_root.1-a', 'x'.repeat(1000)])
    assert.equal(await put('username', { username: '' }), 204)
    assert.equal(await put('description', { description: '' }), 204)
    const cleared = await read()
    assert.deepEqual(['username' in cleared, cleared.description], [false, ''])
    for (const [path, body, field] of [
      ['ssh-key', { sshKey: '' }, 'sshKey'],
      ['ssh-key', {}, 'sshKey'],
      ['ssh-key', { sshKey: ed25519, force: true }, 'force'],
      ['username', { username: 'a b' }, 'username'],
      ['username', { username: 'a', id: 'x' }, 'id'],
      ['description', { description: 5 }, 'description'],
      ['description', { description: 'x', name: 'y' }, 'name'],
    ] as const) {
      const answer = await admin(`PUT ${root}/${id}/${path}`, body)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, new RegExp(field))
    }
  })

  test('callers need the scope, on the tenant or on the client, and see nothing of another tenant', async () => {
    const mine = await aClient({ name: 'permitted' })
    const hidden = await aClient({ name: 'hidden' })
    const reader = waypost.as(aCaller({ on: { [`vpnclient-${mine.id}`]: ['vpnclient:read'] } }))
    assert.equal((await reader(`GET ${root}/${mine.id}`)).status, 200)
    assert.equal((await reader(`GET ${root}/${hidden.id}`)).status, 404)
    assert.equal((await reader(`DELETE ${root}/${mine.id}`)).status, 403)
    assert.equal((await reader(`PUT ${root}/${mine.id}/username`, { username: 'a' })).status, 403)
    assert.equal((await reader(`POST ${root}`, { name: 'a', type: 'device' })).status, 403)
    const listed = (await reader(`GET ${root}`)).body
    assert.deepEqual([listed.count, listed.data.length, listed.data[0].id], [1, 1, mine.id])
    const missing = await other(`GET ${root}/00000000-0000-4000-8000-000000000000`)
    for (const ask of [other, waypost.as(aCaller())])
      for (const [operation, body] of [
        [`GET ${root}/${mine.id}`],
        [`GET ${root}/${mine.id}/config`],
        [`DELETE ${root}/${mine.id}`],
        [`PUT ${root}/${mine.id}/username`, { username: 'a' }],
        [`GET ${root}/no%20id`],
      ] as const) {
        const answer = await ask(operation, body)
        assert.deepEqual([answer.status, answer.body.code], [404, missing.body.code], operation)
      }
    assert.equal((await other(`GET ${root}?ids=${mine.id}`)).body.count, 0)
    assert.equal((await waypost.as(undefined)(`GET ${root}`)).status, 401)
  })
})

suite('the creator of a client', () => {
  test('the creator of a client gets every scope on this client, even without permissions on the tenant', async () => {
    const [row] = await sql`select backend_client_id as id from identity.realms where tenant_id = 'default'`
    const caller = aCaller({ on: { 'tenant-system': ['vpnclient:create'] } })
    const creator = waypost.as({ ...caller, subject: { type: 'client', id: row!.id } })
    const { id } = await aClient({}, creator)
    const granted = () => sql`select scopes from identity.grants where resource = ${`vpnclient-${id}`}`
    assert.deepEqual([...(await granted())], [{ scopes: ['*'] }])
    assert.equal((await admin(`DELETE ${root}/${id}`)).status, 204)
    assert.equal((await granted()).length, 1)
    assert.equal((await admin(`DELETE ${root}/${id}`)).status, 204)
    assert.equal((await granted()).length, 0)
  })
})

suite('profiles', () => {
  test('a profile is complete, the same for each download, and contains no text that a user has entered', async () => {
    const secret = { description: 'remote evil.example 1', username: 'mallory', sshKey: `${ed25519} up-script` }
    const client = await aClient({ name: 'pump-8', protocol: 'tcp', ...secret })
    const answer = await admin(`GET ${root}/${client.id}/config`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/octet-stream')
    assert.match(answer.headers['content-disposition']!, /^attachment; filename="pump-8\.ovpn"/)
    const { text } = answer
    assert.equal((await admin(`GET ${root}/${client.id}/config`)).text, text)
    const lines = text.split('\n')
    for (const line of ['client', 'proto tcp', 'remote iot.example.org 1194', 'remote-cert-tls server'])
      assert.ok(lines.includes(line), line)
    assert.match(partOf(text, 'key'), /^-----BEGIN PRIVATE KEY-----/)
    assert.match(partOf(text, 'tls-crypt'), /^-----BEGIN OpenVPN Static key V1-----\n([0-9a-f]{32}\n){16}-----END/)
    for (const part of ['evil', 'mallory', 'up-script', 'AAAAC3']) assert.ok(!text.includes(part), part)
  })

  test('certificates are signed by the authority of the tenant, which another tenant does not share', async () => {
    const profileOf = async (ask: typeof admin, id: string) => (await ask(`GET ${root}/${id}/config`)).text
    const mine = await aClient()
    const theirs = await aClient({}, other)
    const [text, otherText] = [await profileOf(admin, mine.id), await profileOf(other, theirs.id)]
    const certificate = new X509Certificate(partOf(text, 'cert'))
    const [authority, vpnRoot] = blocksOf(partOf(text, 'ca')).map((pem) => new X509Certificate(pem))
    assert.equal(certificate.subject, `CN=${mine.id}`)
    assert.ok(certificate.verify(authority!.publicKey) && authority!.verify(vpnRoot!.publicKey))
    const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / 86_400_000
    assert.equal(days, 3650)
    const [otherAuthority, otherRoot] = blocksOf(partOf(otherText, 'ca')).map((pem) => new X509Certificate(pem))
    assert.notEqual(otherAuthority!.fingerprint256, authority!.fingerprint256)
    assert.equal(otherRoot!.fingerprint256, vpnRoot!.fingerprint256)
    assert.ok(!certificate.verify(otherAuthority!.publicKey))
    assert.notEqual(theirs.subnet, mine.subnet)
  })

  test('keys are sealed in the database', async () => {
    const { id } = await aClient()
    const [row] = await sql`select sealed_key, certificate from vpn.clients where id = ${id}`
    assert.match(row!.sealedKey, /^v2\./)
  })
})

suite('revocation', () => {
  test('DELETE revokes a client, a second DELETE removes its record, and its certificate stays on the revocation list', async () => {
    const { id, ipAddress } = await aClient()
    assert.equal((await admin(`DELETE ${root}/${id}`)).status, 204)
    const { state, ipAddress: shown } = (await admin(`GET ${root}/${id}`)).body.data
    assert.deepEqual([state, shown], ['revoked', ipAddress])
    assert.equal((await admin(`GET ${root}/${id}/config`)).status, 404)
    for (const [path, body] of [
      ['username', { username: 'a' }],
      ['ssh-key', { sshKey: ed25519 }],
      ['description', { description: 'a' }],
    ] as const)
      assert.equal((await admin(`PUT ${root}/${id}/${path}`, body)).status, 400)
    const [row] = await sql`select serial_number from vpn.clients where id = ${id}`
    assert.equal((await admin(`DELETE ${root}/${id}`)).status, 204)
    assert.equal((await admin(`GET ${root}/${id}`)).status, 404)
    assert.equal((await admin(`DELETE ${root}/${id}`)).status, 404)
    const [listed] = await sql`select from vpn.revoked_certificates where serial_number = ${row!.serialNumber}`
    assert.ok(listed)
  })

  test('unregistering an endpoint revokes its clients, which then no longer name the endpoint', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(version)
    const client = await aClient({ endpointId })
    assert.deepEqual([client.endpointId, client.application], [endpointId, app])
    // The test moves the creation time into the future, as if the clock of the node that created the client were ahead.
    await sql`update vpn.clients set created = created + interval '1 hour' where id = ${client.id}`
    assert.equal((await admin(`GET ${root}?endpointId=${endpointId}`)).body.count, 1)
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
    await eventually(async () => {
      const { data } = (await admin(`GET ${root}/${client.id}`)).body
      assert.deepEqual([data.state, data.endpointId, data.application], ['revoked', undefined, undefined])
    })
  })

  test('an endpoint of another tenant, or an endpoint that the caller may not read, gets the error for an unknown endpoint', async () => {
    const { version } = await anApplication(['v1'], other)
    const theirs = await anEndpoint(version, other)
    const { version: own } = await anApplication()
    const mine = await anEndpoint(own)
    const creator = waypost.as(aCaller({ on: { 'tenant-system': ['vpnclient:create'] } }))
    for (const [ask, { endpointId }] of [[admin, theirs] as const, [creator, mine] as const]) {
      const { status, body } = await ask(`POST ${root}`, { name: 'a', type: 'device', endpointId })
      assert.deepEqual([status, body.message], [400, `endpointId: there is no endpoint ${endpointId}`])
    }
  })
})

suite('addresses', () => {
  test('two nodes never assign an address twice, assign the address that was free for the longest time, and return 409 if no address is free', async () => {
    const second = await openTestPlatform({ services: all, environment, connection: waypost.connection })
    await addRealms(waypost, 'crowded')
    const tenant = aTenantAdmin('crowded')
    const asks = [waypost.as(tenant), second.as(tenant)]
    const create = async (index: number) => await asks[index % 2]!(`POST ${root}`, { name: 'a', type: 'admin' })
    const answers = await Promise.all(Array.from({ length: 260 }, (_, index) => create(index)))
    const createdClients = answers.filter(({ status }) => status === 201).map(({ body }) => body.data)
    assert.equal(createdClients.length, 254)
    assert.equal(new Set(createdClients.map(({ ipAddress }) => ipAddress)).size, 254)
    const refused = answers.filter(({ status }) => status !== 201)
    assert.deepEqual([...new Set(refused.map(({ status }) => status))], [409])
    assert.match(refused[0]!.body.message, /type admin in 10\.\d+\.\d+\.0\/24 are in use/)
    for (const index of [7, 3, 5])
      assert.equal((await asks[0]!(`DELETE ${root}/${createdClients[index].id}`)).status, 204)
    const again: string[] = []
    for (let index = 0; index < 3; index++) again.push((await create(index)).body.data.ipAddress)
    assert.deepEqual(
      again,
      [7, 3, 5].map((index) => createdClients[index].ipAddress),
    )
    assert.equal((await create(0)).status, 409)
    assert.equal((await asks[0]!(`POST ${root}`, { name: 'a', type: 'device' })).status, 201)
    await second.close()
  })

  test('a tenant gets 409 if no address range is free, and the range of a deleted tenant is not assigned again for some time', async () => {
    const small = await openTestPlatform({
      services: all,
      environment: { ...environment, WAYPOST_VPN_NETWORK: '10.0.16.0/20' },
    })
    await addRealms(small, 'one', 'two')
    const create = (tenantId: string) => small.as(aTenantAdmin(tenantId))(`POST ${root}`, { name: 'a', type: 'device' })
    const first = await create('one')
    assert.deepEqual([first.status, first.body.data.ipAddress], [201, '10.0.16.2'])
    assert.equal((await create('two')).status, 409)
    await small.kit.bus.start({ workers: true })
    await small.kit.db.tx((tx) => small.kit.bus.publish(tx, TenantDeleted, { tenantId: 'one' }))
    await eventually(async () => assert.equal((await small.kit.db.sql`select from vpn.clients`).length, 0))
    assert.equal((await create('two')).status, 409)
    await small.kit.db.sql`update vpn.retired_tenants set retired_date = retired_date - interval '2 minutes'`
    assert.equal((await create('two')).status, 201)
    await small.kit.bus.stop()
    await small.close()
  })
})
