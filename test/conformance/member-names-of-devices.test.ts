/** Names that every JavaScript object inherits are ordinary keys in metadata and in device payloads. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { catalogue } from '../../src/assembly/catalogue.ts'
import { openGateway } from '../harness/gateway.ts'

const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']
const text = `{${names.map((name) => `"${name}":{"${name}":1}`).join()}}`
const json = { 'content-type': 'application/json' }

let gateway: Awaited<ReturnType<typeof openGateway>>
let endpoint: { endpointId: string; token: string; version: string }
before(async () => {
  gateway = await openGateway({ services: catalogue, environment: { WAYPOST_LOG_LEVEL: 'silent' } })
  const { version } = await gateway.anApplication()
  endpoint = { ...(await gateway.anEndpoint(version)), version }
})

test('a key with an inherited name is stored, in a write of all metadata and in a write of a single key', async () => {
  const metadata = `/epr/api/v1/endpoints/${endpoint.endpointId}/metadata`
  assert.equal((await gateway.admin(`GET ${metadata}/constructor`)).status, 404)
  const put = await gateway.admin(`PUT ${metadata}`, text, json)
  assert.ok(put.status < 300, put.text)
  const read = await gateway.admin(`GET ${metadata}`)
  for (const name of names) assert.match(read.text, new RegExp(`"${name}":\\{"${name}":1\\}`))
  for (const name of names) {
    const one = await gateway.admin(`GET ${metadata}/${name}`)
    assert.deepEqual([one.status, one.text], [200, `{"${name}":1}`])
    assert.equal((await gateway.admin(`DELETE ${metadata}/${name}`)).status, 204)
    assert.equal((await gateway.admin(`GET ${metadata}/${name}`)).status, 404)
  }
})

test('no message of a device over HTTP fails with 5xx', async () => {
  const { version, token } = endpoint
  const paths = [
    'dcx/json',
    'epmx/update/keys',
    'epmx/delete/keys',
    'cmx/pull/json',
    'cmx/applied/json',
    'cex/result/x',
  ]
  for (const path of [...paths, ...names.map((name) => `dcx/plain/${name}`), ...names.map((name) => `${name}/json`)]) {
    const [extension, ...rest] = path.split('/')
    for (const payload of [text, `[${text}]`, JSON.stringify(names)]) {
      const url = `POST /kp1/${version}/${extension}/${token}/${rest.join('/')}`
      const answer = await gateway.admin(url, payload, json)
      assert.ok(answer.status < 500, `${url} ${payload}: ${answer.status} ${answer.text}`)
    }
  }
})
