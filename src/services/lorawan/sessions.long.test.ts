import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAllTests, temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openLorawan } from '../../../test/harness/lorawan.ts'
import { aBroker } from '../../../test/harness/mosquitto.ts'

const { waypost, expectStatus, admin, anIntegration, untilState, valuesOf, setTenantStatus } = await openLorawan({
  environment: { WAYPOST_LOG_LEVEL: 'silent' },
})
const users = Array.from({ length: 30 }, (_, n) => `app${n}@ttn`)

const enabled = (port: number, fields: object = {}) => ({
  netMqttIntegrationEnabled: true,
  netPlainMqttServerUrl: `mqtt://127.0.0.1:${port}`,
  netUsername: users.pop()!,
  ...fields,
})

/** Creates a self-signed certificate for localhost. */
function aCertificate() {
  const directory = temporaryDirectory()
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  const names = 'subjectAltName=DNS:localhost'
  const subject = ['-subj', '/CN=localhost', '-addext', names, '-days', '2']
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
      ...subject,
    ],
    { stdio: 'ignore' },
  )
  return { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') }
}

/** Starts a TCP server. `accept` handles each connection. */
async function aServer(accept: Parameters<typeof createServer>[1]) {
  const server = createServer(accept!)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAllTests(() => void server.close())
  return (server.address() as { port: number }).port
}

suite('a session says why it is not connected', () => {
  test('a session says that the address of the network refuses the connection', async () => {
    const { path } = await anIntegration(enabled(1))
    const { platformConnectionState } = await untilState(path, 'DISCONNECTED', /127\.0\.0\.1:1 refuses the connection/)
    assert.equal(platformConnectionState, 'CONNECTED')
  })

  test('a session says that the host name of the network cannot be resolved', async () => {
    const { path } = await anIntegration(enabled(1, { netPlainMqttServerUrl: 'mqtt://no-such-host.invalid' }))
    await untilState(path, 'DISCONNECTED', /no-such-host\.invalid cannot be resolved/)
  })

  test('a session reports a wrong key, and connects immediately after the key is corrected', async () => {
    const broker = await aBroker(users)
    const { path } = await anIntegration({ ...enabled(broker.port), netApiKeyId: 'wrong-key-1' })
    const { netConnectionError } = await untilState(path, 'DISCONNECTED', /refuses the user name or the API key/)
    assert.ok(!netConnectionError.includes('wrong-key-1'))
    const listed = (await expectStatus(200, 'GET /api/v1/integrations')).body.content.find(({ id }: { id: number }) =>
      path.endsWith(`/${id}`),
    )
    assert.equal(listed.netConnectionError, netConnectionError)
    await expectStatus(200, `PATCH ${path}`, { netApiKeyId: broker.password })
    assert.equal((await untilState(path, 'CONNECTED')).netConnectionError, undefined)
  })

  test('a session says that the server closes the connection within a message, sends bytes that are not MQTT, or sends nothing', async () => {
    const closing = await aServer((socket) => socket.end(Buffer.from([0x20, 0x02])))
    const a = await anIntegration(enabled(closing))
    await untilState(a.path, 'DISCONNECTED', /closed the connection/)
    const other = await aServer((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const b = await anIntegration(enabled(other))
    await untilState(b.path, 'DISCONNECTED', /not MQTT|does not answer|closed/)
    const silent = await aServer(() => {})
    const c = await anIntegration(enabled(silent))
    await untilState(c.path, 'DISCONNECTED', /does not answer/)
  })

  test('the pauses between connection attempts grow from one second', async () => {
    const attempts: number[] = []
    const port = await aServer((socket) => {
      attempts.push(Date.now())
      socket.destroy()
    })
    await anIntegration(enabled(port))
    await eventually(() => assert.ok(attempts.length >= 4), { withinMs: 15_000 })
    const pauses = attempts.slice(1).map((time, index) => (time - attempts[index]!) / 1000)
    for (const [index, least] of [0.9, 1.9, 3.9].entries()) assert.ok(pauses[index]! > least, `${pauses}`)
  })
})

suite('TLS', () => {
  test('a trusted certificate for the host name is accepted; any other certificate is rejected with the reason', async () => {
    const tls = aCertificate()
    const broker = await aBroker(users, { tls })
    const enabledOn = (host: string) => enabled(1, { netPlainMqttServerUrl: `mqtts://${host}:${broker.port}` })
    const untrusted = await anIntegration(enabledOn('localhost'))
    await untilState(untrusted.path, 'DISCONNECTED', /TLS with localhost:\d+ failed: .*certificate/)
    setDefaultCACertificates([...getCACertificates(), tls.certificate])
    await untilState(untrusted.path, 'CONNECTED')
    const wrongName = await anIntegration(enabledOn('127.0.0.1'))
    await untilState(wrongName.path, 'DISCONNECTED', /TLS with .* failed/)
    const network = await broker.network()
    const [device] = await untrusted.map([{ netDeviceId: 'dev' }])
    await network.uplink(untrusted.netUsername, 'dev', { f_cnt: 1, decoded_payload: { t: 1 } })
    await eventually(async () => assert.equal((await valuesOf(untrusted.app, 'auto~t'))[device.endpointId]?.length, 1))
  })
})

suite('a session follows its integration', () => {
  test('a suspended integration has no session and no error, and uplinks during the suspension are dropped', async () => {
    const broker = await aBroker(users)
    const network = await broker.network()
    const { path, netUsername, map, app } = await anIntegration(enabled(broker.port))
    const [device] = await map([{ netDeviceId: 'dev' }])
    await untilState(path, 'CONNECTED')
    await expectStatus(204, `PUT ${path}/status`, { status: 'SUSPENDED' })
    assert.equal((await untilState(path, 'DISCONNECTED')).netConnectionError, undefined)
    // The API shows the new state immediately, but the node ends its session a moment later.
    const integrationId = Number(path.split('/').at(-1))
    await eventually(async () => {
      const heldSessions = await waypost.kit.db.sql`
        select from lorawan.sessions where app_integration_id = ${integrationId} and node_id is not null`
      assert.equal(heldSessions.length, 0)
    })
    await network.uplink(netUsername, 'dev', { f_cnt: 1, decoded_payload: { t: 1 } })
    await expectStatus(204, `PUT ${path}/status`, { status: 'ACTIVE' })
    await untilState(path, 'CONNECTED')
    await network.uplink(netUsername, 'dev', { f_cnt: 2, decoded_payload: { t: 2 } })
    await eventually(async () =>
      assert.deepEqual(
        (await valuesOf(app, 'auto~t'))[device.endpointId]?.map(([, value]) => value),
        [2],
      ),
    )
  })

  test('if the clean start of a session cannot be recorded, the session repeats the clean start before it opens', async () => {
    const { sql } = waypost.kit.db
    await sql`
      create function lorawan.refuse() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`
    await sql`
      create trigger refuse before update on lorawan.sessions for each row
      when (old.starts_clean and not new.starts_clean) execute function lorawan.refuse()`
    const broker = await aBroker(users)
    const { path, id } = await anIntegration(enabled(broker.port))
    await untilState(path, 'DISCONNECTED', /retrying/)
    await sql`drop trigger refuse on lorawan.sessions`
    await untilState(path, 'CONNECTED')
    const [row] = await sql`select starts_clean from lorawan.sessions where app_integration_id = ${id}`
    assert.equal(row!.startsClean, false)
  })

  test('an integration without MQTT has no session and no error', async () => {
    const { path } = await anIntegration({ netUsername: users.pop()! })
    assert.equal((await untilState(path, 'DISCONNECTED')).netConnectionError, undefined)
  })

  test('while the tenant is suspended, there is no session', async () => {
    const broker = await aBroker(users)
    const { path } = await anIntegration(enabled(broker.port))
    await untilState(path, 'CONNECTED')
    await setTenantStatus('default', 'SUSPENDED')
    const { platformConnectionState } = await untilState(path, 'DISCONNECTED')
    await setTenantStatus('default', 'AVAILABLE')
    assert.equal(platformConnectionState, 'DISCONNECTED')
    await untilState(path, 'CONNECTED')
  })

  test('messages that the broker keeps during its restart arrive once', async () => {
    const broker = await aBroker(users)
    let network = await broker.network()
    const { path, netUsername, map, app } = await anIntegration(enabled(broker.port))
    const [device] = await map([{ netDeviceId: 'dev' }])
    await untilState(path, 'CONNECTED')
    const send = (from: number) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          network.uplink(netUsername, 'dev', { f_cnt: from + n, decoded_payload: { t: from + n } }),
        ),
      )
    await send(0)
    await network.end()
    await broker.stop()
    await untilState(path, 'DISCONNECTED', /closed the connection|refuses the connection/)
    await broker.start()
    network = await broker.network()
    // The platform has not reconnected yet, so the broker stores these messages in the session of the platform.
    await send(20)
    await eventually(
      async () => {
        const values = (await valuesOf(app, 'auto~t'))[device.endpointId] ?? []
        assert.deepEqual(
          values.map(([, value]) => value).toSorted((a, b) => Number(a) - Number(b)),
          Array.from({ length: 40 }, (_, n) => n),
        )
      },
      { withinMs: 20_000 },
    )
    await untilState(path, 'CONNECTED')
    assert.equal((await admin(`GET ${path}/devices/${device.id}`)).body.statistics.dropped, 0)
  })

  test('when an integration is deleted, its session at the broker is deleted', async () => {
    const broker = await aBroker(users)
    const network = await broker.network()
    const count = async () => {
      const reading = new Promise<string>((resolve) => {
        network.client.removeAllListeners('message').once('message', (_, payload) => resolve(payload.toString()))
      })
      await network.client.subscribeAsync('$SYS/broker/clients/total')
      const text = await reading
      await network.client.unsubscribeAsync('$SYS/broker/clients/total')
      return Number(text)
    }
    const { path } = await anIntegration(enabled(broker.port))
    await untilState(path, 'CONNECTED')
    await expectStatus(204, `DELETE ${path}`)
    await eventually(async () => assert.equal(await count(), 1), { withinMs: 20_000 })
  })
})
