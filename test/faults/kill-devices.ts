/**
 * Kills every process of the platform with SIGKILL while devices send samples with QoS 1, starts it again on the same directory, and
 * at the end looks for every message that got its PUBACK in the traffic log.
 */
import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import type { Ask } from '../harness/client.ts'
import { aDevice } from '../harness/device.ts'
import { furnish } from '../harness/gateway.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { killAll, randomOf } from './kill.ts'

export interface DeviceKillReport {
  rounds: number
  sent: number
  acknowledged: number
}

const devicesAtOnce = 4
/** Of each device: so many messages wait for their PUBACK at any time. */
const window = 20
const pageSize = 1000

export async function killDeviceRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<DeviceKillReport> {
  const { rounds, directory } = options
  const random = randomOf(options.seed)
  const environment = { WAYPOST_LOG_LEVEL: 'fatal' }
  const sent: string[] = []
  const acknowledged: string[] = []
  let topics: string[] | undefined
  for (let round = 0; round < rounds; round++) {
    const platform = await startPlatform({ directory, environment })
    topics ??= await topicsOf(await platform.asService(platform.bootstrap.default))
    const sending = await Promise.all(
      topics.map(async (topic, n) => send(await aDevice(platform.mqttUrl), topic, `${round}-${n}`)),
    )
    await sleep(20 + random() * 1000)
    await killAll(platform)
    for (const device of sending) {
      await device.ended
      sent.push(...device.sent)
      acknowledged.push(...device.acknowledged)
    }
  }
  const logged = await loggedBy(await startPlatform({ directory, environment }))
  const missing = acknowledged.filter((text) => !logged.has(text))
  assert.deepEqual(missing.slice(0, 10), [], `${missing.length} of ${acknowledged.length} are missing`)
  const twice = sent.filter((text) => (logged.get(text) ?? 0) > 1)
  assert.deepEqual(twice.slice(0, 10), [], `${twice.length} were stored more often than they were sent`)
  return { rounds, sent: sent.length, acknowledged: acknowledged.length }
}

/** One endpoint for each device. */
async function topicsOf(ask: Ask): Promise<string[]> {
  const { anApplication, anEndpoint } = furnish(ask)
  const { version } = await anApplication()
  const endpoints = await Promise.all(Array.from({ length: devicesAtOnce }, () => anEndpoint(version)))
  return endpoints.map(({ token }) => `kp1/${version}/dcx/${token}/json`)
}

/** Until the connection breaks; nothing is sent again. */
function send({ client }: Awaited<ReturnType<typeof aDevice>>, topic: string, prefix: string) {
  const sent: string[] = []
  const acknowledged: string[] = []
  let open = true
  const ended = new Promise<void>((resolve) =>
    client.once('close', () => {
      open = false
      resolve()
    }),
  )
  const one = async () => {
    const text = JSON.stringify({ name: `${prefix}-${sent.length}` })
    sent.push(text)
    await client.publishAsync(topic, text, { qos: 1 })
    acknowledged.push(text)
  }
  const line = async () => {
    // The last ones are never answered.
    while (open) await Promise.race([one(), ended]).catch(() => {})
  }
  for (let n = 0; n < window; n++) void line()
  return { sent, acknowledged, ended }
}

/** How often each payload is in the log. */
async function loggedBy(platform: RunningPlatform): Promise<Map<string, number>> {
  const ask = await platform.asService(platform.bootstrap.default)
  const times = new Map<string, number>()
  for (let page = 0; ; page++) {
    const { status, text, body } = await ask(`GET /api/v1/al/endpoint-traffic?page=${page}&size=${pageSize}`)
    assert.equal(status, 200, text)
    const content = body.content as { direction: string; payload: string }[]
    for (const { direction, payload } of content)
      if (direction === 'INBOUND') times.set(payload, (times.get(payload) ?? 0) + 1)
    if (content.length < pageSize) return times
  }
}
