/** When the platform issues the certificate of MQTT over TLS. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { openGateway } from '../../test/harness/gateway.ts'

const gate = await openGateway({ environment: { WAYPOST_LOG_LEVEL: 'silent' } })
const { sql } = gate.waypost.kit.db
const { hostname, port } = new URL(gate.mqttsUrl)

/** Returns the fingerprint of the certificate that the platform shows. */
async function fingerprint(): Promise<string> {
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const authorities = async () => Number((await sql`select count(*) as number from credentials.authorities`)[0]!.number)

test('a start issues no certificate; a connection is closed if that fails, and the next one tries again', async () => {
  assert.equal(await authorities(), 0)
  await sql`alter table credentials.authorities rename to away`
  await assert.rejects(fingerprint(), { code: 'ECONNRESET' })
  await sql`alter table credentials.away rename to authorities`
  const shown = await Promise.all([fingerprint(), fingerprint(), fingerprint()])
  assert.equal(new Set(shown).size, 1, 'connections at the same time got different certificates')
  assert.equal(await fingerprint(), shown[0])
  assert.equal(await authorities(), 1)
})

test('a client that leaves while the certificate is issued does no harm', async () => {
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
