/** Tests when the platform issues the certificate of MQTT over TLS, and for which names. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { openGateway } from '../../test/harness/gateway.ts'

const fixture = await openGateway({ environment: { WAYPOST_LOG_LEVEL: 'silent' } })
const { sql } = fixture.waypost.kit.db
const { hostname, port } = new URL(fixture.mqttsUrl)

/** Returns the fingerprint of the certificate that the platform shows. */
async function fingerprint(): Promise<string> {
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const authorities = async () => Number((await sql`select count(*) as number from credentials.authorities`)[0]!.number)

test('the certificate is issued at the first TLS connection, not at the start; if issuing fails, the next connection tries again', async () => {
  assert.equal(await authorities(), 0)
  await sql`alter table credentials.authorities rename to away`
  await assert.rejects(fingerprint(), { code: 'ECONNRESET' })
  await sql`alter table credentials.away rename to authorities`
  const shown = await Promise.all([fingerprint(), fingerprint(), fingerprint()])
  assert.equal(new Set(shown).size, 1, 'concurrent connections must get the same certificate')
  assert.equal(await fingerprint(), shown[0])
  assert.equal(await authorities(), 1)
})

test('a client that disconnects while the certificate is issued does not hinder the next client', async () => {
  const other = await openGateway()
  const { hostname: host, port: at } = new URL(other.mqttsUrl)
  const leaving = connectPlain({ host, port: Number(at) })
  leaving.on('error', () => {})
  leaving.once('connect', () => leaving.resetAndDestroy())
  await once(leaving, 'close')
  const staying = connect({ host, port: Number(at), rejectUnauthorized: false })
  await once(staying, 'secureConnect')
  staying.destroy()
})

test('the certificate names the public host, the public host with the prefix "mqtt.", and the hosts of the setting', async () => {
  const named = await openGateway({
    environment: { WAYPOST_BASE_URL: 'https://iot.example.com', WAYPOST_MQTTS_HOSTS: 'devices.example.net, 192.0.2.7' },
  })
  const { hostname: host, port: at } = new URL(named.mqttsUrl)
  const socket = connect({
    host: '127.0.0.1',
    port: Number(at),
    servername: 'mqtt.iot.example.com',
    rejectUnauthorized: false,
  })
  await once(socket, 'secureConnect')
  const { subjectaltname = '' } = socket.getPeerCertificate()
  socket.destroy()
  for (const name of [
    'DNS:iot.example.com',
    'DNS:mqtt.iot.example.com',
    'DNS:devices.example.net',
    'IP Address:192.0.2.7',
  ])
    assert.ok(subjectaltname.includes(name), `${name} is not in ${subjectaltname} (${host})`)
})
