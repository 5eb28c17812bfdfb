/** Runs the device programs of examples/ against the whole platform, as their README describes. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { afterAllTests } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { openInProcessPlatform } from '../harness/in-process-platform.ts'
import { invocations } from '../harness/invocations.ts'
import { pythonWith } from '../harness/python.ts'

const { ask, baseUrl, mqttUrl } = await openInProcessPlatform()
const commands = invocations(ask)
const { hostname, port } = new URL(mqttUrl)
await ask('POST /api/v1/applications', { name: 'examples' })
await ask('POST /api/v1/applications/examples/app-versions', { nameSuffix: 'v1' })

const software = '/otao/api/v1/applications/examples/software'
for (const [version, body] of [
  ['1.0.0', { rolloutStrategy: 'general' }],
  ['1.1.0', { rolloutStrategy: 'general', upgradableFrom: ['1.0.0'], skipDispatchingToEndpoint: true }],
] as const)
  await ask(`POST ${software}/${version}`, body)
await ask(`PUT ${software}/1.1.0/file?filename=firmware.bin`, Buffer.alloc(300_000, 'firmware'))

/** Registers an endpoint with a configuration. */
async function anEndpoint(): Promise<{ endpointId: string; token: string }> {
  const { status, body } = await ask('POST /epr/api/v1/endpoints', { appVersion: { name: 'examples-v1' } })
  assert.equal(status, 201)
  await ask(`PUT /ecr/api/v1/endpoints/${body.endpointId}/app-versions/examples-v1`, { interval: 5 })
  return body
}

function run(command: string, ...args: string[]) {
  const child = spawn(command, args, { cwd: fileURLToPath(new URL('../..', import.meta.url)) })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const ended = new Promise<number | null>((done) => child.on('close', done))
  afterAllTests(() => void child.kill('SIGKILL'))
  return {
    ended,
    says: (pattern: RegExp) => eventually(() => assert.match(output, pattern), { withinMs: 20_000 }),
    stop: () => child.kill('SIGINT'),
  }
}

/** Finds a sample of the endpoint in the traffic log. */
const sampleOf = (endpointId: string) =>
  eventually(async () => {
    const { status, text } = await ask(`GET /api/v1/al/endpoint-traffic?endpointIds=${endpointId}&extension=dcx`)
    assert.equal(status, 200, text)
    assert.match(text, /temperature/)
  })

/** Asserts that the device has applied its configuration and has downloaded and installed the new software. */
const isUpToDate = (endpointId: string) =>
  eventually(
    async () => {
      const statuses = await ask(`GET /ecr/api/v1/statuses?endpointId=${endpointId}`)
      assert.equal(statuses.body.content[0].status, 'APPLIED')
      const { body, text } = await ask(`GET ${software}/endpoints/${endpointId}`)
      assert.equal(body.currentVersion, '1.1.0', text)
    },
    { withinMs: 20_000 },
  )

const assertResult = (endpointId: string, id: number, by: string) =>
  eventually(async () => {
    const { status, statusCode, responsePayload } = await commands.get(endpointId, 'blink', id)
    assert.deepEqual([status, statusCode, responsePayload], ['EXECUTED', 200, `done by ${by}`])
  })

test('the example with mosquitto_pub and mosquitto_sub sends samples and executes commands', async () => {
  const { endpointId, token } = await anEndpoint()
  const device = run('examples/mosquitto/device.sh', 'examples-v1', token, hostname, port)
  await device.says(/sent a sample/)
  await sampleOf(endpointId)
  await isUpToDate(endpointId)
  const id = await commands.invoke(endpointId, 'blink', { times: 3 })
  await assertResult(endpointId, id, 'mosquitto_pub')
  assert.equal(await device.ended, 0)
})

test('the example with curl sends samples and polls for commands', async () => {
  const { endpointId, token } = await anEndpoint()
  const device = run('examples/curl/device.sh', 'examples-v1', token, baseUrl)
  await device.says(/sent a sample/)
  await sampleOf(endpointId)
  await isUpToDate(endpointId)
  const id = await commands.invoke(endpointId, 'blink', { times: 3 })
  await assertResult(endpointId, id, 'curl')
  assert.equal(await device.ended, 0)
})

const python = execFileSync('sh', ['-c', pythonWith('paho.mqtt.client')], { encoding: 'utf8' }).trim()

for (const [by, command, args] of [
  ['Node.js', process.execPath, (token: string) => ['examples/node/device.mjs', 'examples-v1', token, mqttUrl]],
  ['Python', python, (token: string) => ['examples/python/device.py', 'examples-v1', token, hostname, port]],
] as const)
  test(`a device in ${by} sends samples and receives a command without subscribing`, async () => {
    const { endpointId, token } = await anEndpoint()
    const device = run(command, ...args(token))
    await device.says(/sample 1 is stored/)
    await sampleOf(endpointId)
    await isUpToDate(endpointId)
    const id = await commands.invoke(endpointId, 'blink', { times: 3 })
    await device.says(new RegExp(`command ${id}: blink \\{"times": ?3\\}`))
    await assertResult(endpointId, id, by)
    device.stop()
    assert.equal(await device.ended, 0)
  })
