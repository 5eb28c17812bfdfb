/** The README's first steps, run as they stand: only the address and the data directory differ. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from '../harness/eventually.ts'
import { startPlatform } from '../harness/platform.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)

test('a newcomer gets a token, makes an application and a tenant and hears a device with the commands of the README', async () => {
  const { baseUrl, mqttUrl, directory, asService, bootstrap } = await startPlatform()
  const script = blocks
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', baseUrl)
    .replaceAll('-p 1883', `-p ${new URL(mqttUrl).port}`)
    .replaceAll('./data/', `${directory}/`)
  const { status, stdout, stderr } = spawnSync('sh', ['-eu'], { input: script, encoding: 'utf8' })
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
