/** Kills the database while callers wait for commands. The program restarts it; callers and devices continue without help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../src/kernel/clock.ts'
import { aDevice } from '../harness/device.ts'
import { eventually } from '../harness/eventually.ts'
import { startPlatform } from '../harness/platform.ts'
import { nameOf, processTree } from '../harness/processes.ts'

const callers = 20

test('when the database is killed, waiting callers get their results, others get 503 with Retry-After, and devices stay connected', async () => {
  const platform = await startPlatform()
  const ask = await platform.asService(platform.bootstrap.default)
  const create = async (operation: string, body: unknown) => {
    const { status, text } = await ask(operation, body)
    assert.equal(status, 201, text)
  }
  await create('POST /api/v1/applications', { name: 'outage' })
  await create('POST /api/v1/applications/outage/app-versions', { nameSuffix: 'v1' })
  const connected = async (name: string) => {
    const endpoint = { appVersion: { name: 'outage-v1' }, endpointId: name, endpointToken: `token-of-${name}` }
    await create('POST /epr/api/v1/endpoints', endpoint)
    const topic = `kp1/outage-v1/cex/token-of-${name}`
    const sensor = await aDevice(platform.mqttUrl)
    await sensor.publish(`${topic}/command/none/1`)
    await sensor.receives(`${topic}/command/none/1/status`)
    return { topic, sensor, path: `/cex/api/v1/endpoints/${name}/commands/blink` }
  }
  const [busy, idle] = [await connected('busy'), await connected('idle')]
  const pushed = new Map<number, number>()
  busy.sensor.client.on('message', (topic, payload) => {
    if (topic !== `${busy.topic}/command/blink/status`) return
    for (const { id, payload: n } of JSON.parse(payload.toString())) {
      assert.ok(!pushed.has(id), `the command ${id} must be pushed once`)
      pushed.set(id, n)
    }
  })
  const answer = (ids: number[]) =>
    busy.sensor.publish(
      `${busy.topic}/result/blink/2`,
      ids.map((id) => ({ id, statusCode: 200, payload: pushed.get(id) })),
    )

  const waiting = Array.from({ length: callers }, (_, n) => ask(`POST ${busy.path}?awaitTimeout=50`, n))
  await eventually(() => assert.equal(pushed.size, callers))
  for (const pid of processTree(platform.process.pid!))
    if (nameOf(pid).startsWith('postgres')) process.kill(pid, 'SIGKILL')

  const acknowledged: number[] = []
  let isRecovered = false
  for (let n = callers; !isRecovered; n++) {
    const { status, headers, text } = await ask(`POST ${busy.path}?awaitTimeout=0`, n)
    if (status === 202) acknowledged.push(Number(String(headers.get('location')).split('/').at(-1)))
    else assert.ok(status === 503 && Number(headers.get('retry-after')) > 0, `${status} ${text}`)
    isRecovered = status === 202 && platform.output().includes('is running again')
    assert.ok(n < 2000, 'the database must be reachable again')
    await sleep(20)
  }
  await eventually(() =>
    assert.ok(
      acknowledged.every((id) => pushed.has(id)),
      'each stored command must be pushed',
    ),
  )
  assert.ok(busy.sensor.client.connected && idle.sensor.client.connected, 'devices must stay connected')
  await answer([...pushed.keys()])
  const results = await Promise.all(waiting)
  assert.deepEqual(
    results.map(({ status, body }) => [status, body]),
    waiting.map((_, n) => [200, n]),
  )
  const next = ask(`POST ${idle.path}?awaitTimeout=10`, 'after')
  const [{ id }] = (await idle.sensor.receives(`${idle.topic}/command/blink/status`)).json
  await idle.sensor.publish(`${idle.topic}/result/blink`, [{ id, statusCode: 200, payload: 'done' }])
  assert.equal((await next).body, 'done')
  assert.equal(await platform.kill('SIGTERM'), 0)
})
