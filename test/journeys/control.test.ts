/**
 * Tests a device that implements the device protocol itself, without the SDK, over MQTT 3.1.1, MQTT 5 and HTTP polling. It answers
 * commands, applies a configuration, and installs software whose download is interrupted. Callers use the first node; the device starts
 * at the second node and moves to the first.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import net from 'node:net'
import { test } from 'node:test'
import { type Protocol, startControlDevice } from '../faults/control-device.ts'
import type { Ask } from '../harness/client.ts'
import { afterAllTests, temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { nodeDirectories, type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { startPostgresServer } from '../harness/postgres-server.ts'

const database = await startPostgresServer(temporaryDirectory())
afterAllTests(() => database.stop())
const environment = {
  WAYPOST_DATABASE_URL: database.url,
  WAYPOST_MASTER_KEY: 'k'.repeat(40),
  WAYPOST_LOG_LEVEL: 'error',
}
const [one, two] = nodeDirectories(2) as [string, string]
const nodes = [
  await startPlatform({ directory: one, environment }),
  await startPlatform({ directory: two, environment }),
] as const

const content = randomBytes(3_000_000)
const cutAfterBytes = 1_000_000

/** Forwards connections to a node, and cuts the first connection on which the node has sent `cutAfterBytes` bytes. */
async function cuttingProxy({ baseUrl }: RunningPlatform) {
  const target = new URL(baseUrl)
  const proxy = { url: '', cuts: 0 }
  const server = net.createServer((incoming) => {
    const outgoing = net.connect(Number(target.port), target.hostname)
    let bytes = 0
    outgoing.on('data', (chunk) => {
      bytes += chunk.length
      if (proxy.cuts > 0 || bytes < cutAfterBytes) return void incoming.write(chunk)
      proxy.cuts++
      incoming.destroy()
      outgoing.destroy()
    })
    incoming.pipe(outgoing)
    for (const socket of [incoming, outgoing])
      socket.on('error', () => {}).on('close', () => void [incoming.destroy(), outgoing.destroy()])
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(async () => void server.close())
  proxy.url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
  return proxy
}

async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  assert.equal(answer.status, status, `${operation}: ${answer.text}`)
  return answer
}

const protocols: Protocol[] = ['mqtt 3.1.1', 'mqtt 5', 'http']

for (const [index, protocol] of protocols.entries())
  test(`over ${protocol}, a device at one node carries out the requests of callers at another node`, async () => {
    const [app, endpointId, token] = [`control${index}`, `control-${index}`, `control-token-${index}`]
    const version = `${app}-v1`
    const [here, there] = nodes
    const proxy = await cuttingProxy(there)
    const ask = await here.asService(here.bootstrap.default)
    await expectStatus(ask, 201, 'POST /api/v1/applications', { name: app })
    await expectStatus(ask, 201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
    await expectStatus(ask, 201, 'POST /epr/api/v1/endpoints', {
      appVersion: { name: version },
      endpointId,
      endpointToken: token,
    })
    const software = `/otao/api/v1/applications/${app}/software`
    await expectStatus(ask, 201, `POST ${software}/1.0.0`, { rolloutStrategy: 'suspended' })

    const start = (node: RunningPlatform, baseUrl = node.baseUrl) =>
      startControlDevice({ nodes: [{ ...node, baseUrl }], random: () => 0, version }, { endpointId, token, protocol })
    const invoke = async (n: number) => {
      const path = `/cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=10`
      assert.deepEqual((await expectStatus(ask, 200, `POST ${path}`, { n })).body, { n })
    }
    const device = start(there, proxy.url)
    await invoke(1)
    const path = `/ecr/api/v1/endpoints/${endpointId}/app-versions/${version}`
    await expectStatus(ask, 200, `PUT ${path}?name=own`, { interval: 60 })
    await eventually(async () => {
      assert.deepEqual(device.configurations.get('own'), { interval: 60 })
      const { body } = await expectStatus(ask, 200, `GET /ecr/api/v1/statuses?endpointId=${endpointId}`)
      assert.equal(body.content[0].status, 'APPLIED', JSON.stringify(body))
    })

    const fields = { rolloutStrategy: 'general', upgradableFrom: ['1.0.0'], skipDispatchingToEndpoint: true }
    await expectStatus(ask, 201, `POST ${software}/2.0.0`, { ...fields, filename: 'f.bin' })
    await expectStatus(ask, 204, `PUT ${software}/2.0.0/file?filename=f.bin`, content)
    await eventually(
      async () => {
        const { body } = await expectStatus(ask, 200, `GET ${software}/endpoints/${endpointId}`)
        assert.equal(body.currentVersion, '2.0.0')
      },
      { withinMs: 20_000 },
    )
    assert.ok(proxy.cuts === 1 && device.downloadsFailed > 0, 'the download must be interrupted once')
    assert.equal(device.downloads.get('2.0.0'), createHash('sha256').update(content).digest('hex'))

    await device.stop()
    const moved = start(here)
    await invoke(2)
    await expectStatus(ask, 200, `PUT ${path}?name=own`, { interval: 30 })
    await eventually(() => assert.deepEqual(moved.configurations.get('own'), { interval: 30 }))
    assert.deepEqual([...device.repeated, ...moved.repeated], [])
    await moved.stop()
  })
