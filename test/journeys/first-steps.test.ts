/** The README's first steps and the guides that go on from them, run as they stand. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf, runAsWritten } from '../harness/documents.ts'
import { eventually } from '../harness/eventually.ts'
import { startPlatform } from '../harness/platform.ts'

test('a newcomer gets a token, makes an application and a tenant and hears a device with the commands of the README', async () => {
  const { directory, asService, bootstrap } = await startPlatform()
  const { status, stdout, stderr } = runAsWritten(commandsOf('README.md'), { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /201 Created[\s\S]*201 Created[\s\S]*"greenhouse-v1"[\s\S]*202 Accepted/)
  assert.match(
    stdout,
    /200 OK[\s\S]*"totalElements":2,[\s\S]*21\.7[\s\S]*"transport":"mqtt"[\s\S]*21\.5[\s\S]*"transport":"http"/,
  )
  const asPlatform = await asService(bootstrap.platform)
  await eventually(async () => {
    const { body } = await asPlatform('GET /tenant-manager/api/v2/tenants?tenant_id=acme')
    assert.equal(body.results[0].status, 'AVAILABLE')
  })
})

/** What each section of the guide shows, in its order. */
const shown = {
  Register: /"endpointId":"gateway-1","token":"\w+".*?"endpointId":"thermo-1","token"/s,
  batch: /"createdCount":1,"failedCount":1,.*?"statusReason":"Endpoint thermo-1 already exists"/s,
  Metadata: /"floor":3,"model":"T-1000"\}/,
  list: /"totalElements":3,.*?"metadata"/s,
  metadataFilter: /"totalElements":2,/,
  regex: /"totalElements":2,/,
  search: /"totalElements":2,"content":\[\{"endpointId":"thermo-1".*?"endpointId":"thermo-2"/s,
  relations: /\{"type":"contains","from":"gateway-1","to":"thermo-1"\}/,
  Group: /"status":"active".*?"totalElements":2,/s,
  Tokens: /201 Created.*?"status":"Inactive"\}.*?"totalElements":2,.*?"status":"Revoked"/s,
  credentials: /"username":"gateway-1".*?"password".*?client\.pem: OK/s,
  revocation: /Revoked Certificates:\s+Serial Number/,
  scripts: /"totalElements":2,.*?"name":"greenhouse"/s,
}

test('the guide to endpoints goes on from there: every command does what it says', async () => {
  const { directory } = await startPlatform()
  const commands = [commandsOf('README.md')[0]!, ...commandsOf('docs/guides/endpoints.md')]
  const { status, stdout, stderr } = runAsWritten(commands, { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  const refused = stdout.split('\n').filter((line) => line.startsWith('{"message"'))
  assert.deepEqual(refused, [])
  let rest = stdout
  for (const [section, pattern] of Object.entries(shown)) {
    const found = rest.match(pattern)
    assert.ok(found, `${section}: ${pattern} is not in\n${rest}`)
    rest = rest.slice(found.index! + found[0].length)
  }
})
