/** Runs the platform with few file descriptors while clients open thousands of HTTP connections. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { aDevice } from '../harness/device.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'

const limit = 256
const attacks = 1000
const otherAddress = '127.0.0.2'
const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

interface Open {
  open: number
  max: number
}

describe(`a platform with ${limit} file descriptors at localhost`, () => {
  let platform: RunningPlatform
  const openSockets: Socket[] = []
  before(async () => {
    const environment = { WAYPOST_LOG_FORMAT: 'json', WAYPOST_HOST: 'localhost' }
    platform = await startPlatform({ descriptors: limit, environment })
  })
  after(() => {
    for (const socket of openSockets) socket.destroy()
  })

  /** Opens connections and sends nothing on them. */
  async function openConnections(host: string, count: number) {
    const port = Number(new URL(platform.baseUrl).port)
    for (let i = 0; i < count; i++) {
      const socket = connect({ port, host })
      socket.on('error', () => {})
      openSockets.push(socket)
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    }
  }

  async function get(url: string, localAddress = '127.0.0.1'): Promise<{ status: number; text: string }> {
    const sent = request(url, { localAddress, family: 4, agent: false }).end()
    const [answer] = await once(sent, 'response')
    let text = ''
    for await (const piece of answer) text += piece
    return { status: answer.statusCode, text }
  }
  const health = async () => {
    const { status, text } = await get(`${platform.managementUrl}/health/ready`)
    const { checks } = JSON.parse(text) as { checks: { name: string; problem?: string; detail?: unknown }[] }
    const { problem, detail } = checks.find(({ name }) => name === 'file descriptors')!
    return { status, problem, http: (detail as { http: Open } | undefined)?.http }
  }
  const metric = async (name: string) => {
    const { text } = await get(`${platform.managementUrl}/metrics`)
    const line = text.split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.slice(name.length) ?? 0)
  }
  const lines = (message: RegExp) =>
    platform
      .output()
      .split('\n')
      .filter((line) => message.test(line))

  test('while one address opens thousands of connections, the platform serves other clients over HTTP, WebSocket and MQTT', async () => {
    const hosts = ['127.0.0.1', ...(hasIPv6 ? ['::1'] : [])]
    await Promise.all(hosts.map((host) => openConnections(host, attacks)))
    for (let i = 0; i < 20; i++) assert.equal((await get(`${platform.baseUrl}/openapi.json`, otherAddress)).status, 200)
    await (await aDevice(platform.mqttUrl)).end()
    // A new connection from the address of the attacker also succeeds, because the platform closes the oldest idle connections of this
    // address.
    await eventually(async () => (await aDevice(`${platform.baseUrl.replace('http:', 'ws:')}/mqtt`)).end())
    const { status, http } = await health()
    assert.equal(status, 200)
    assert.ok(http!.open > 0 && http!.open <= http!.max / 2, JSON.stringify(http))
    const counted = async (what: string) =>
      await metric(`waypost_connections_${what}{listener="http",reason="address"}`)
    const opened = (await counted('refused_total')) + (await counted('evicted_total'))
    assert.ok(
      opened >= hosts.length * attacks - http!.max,
      `the metrics count ${opened} refused and evicted connections`,
    )
    assert.equal(await metric('waypost_file_descriptors_exhausted_total{listener="probe"}'), 0)
  })

  test('the log reports the refused connections in a few lines', () => {
    const logged = lines(/connection limit of one address reached/).filter((line) => line.includes('"listener":"http"'))
    assert.ok(logged.length >= 1 && logged.length < 20, `${logged.length} lines`)
  })

  test('while idle connections exhaust the limit of the management port, the port still serves health requests', async () => {
    const port = Number(new URL(platform.managementUrl).port)
    const idle = Array.from({ length: 40 }, () => connect({ port, host: '127.0.0.1' }))
    for (const socket of idle) socket.on('error', () => {})
    openSockets.push(...idle)
    await eventually(async () => assert.equal((await health()).status, 200), { withinMs: 20_000, everyMs: 200 })
    for (const socket of idle) socket.destroy()
  })

  test('all connections are released after their clients disconnect', async () => {
    for (const socket of openSockets.splice(0)) socket.destroy()
    await eventually(async () => assert.equal((await health()).http!.open, 0))
    assert.equal((await get(`${platform.baseUrl}/openapi.json`)).status, 200)
  })

  test('while no file descriptor is free, log, metrics and health report it; when descriptors are free again, requests are served', async () => {
    const set = (max: number) =>
      execFileSync('prlimit', ['--pid', String(platform.process.pid), `--nofile=${max}:${limit}`])
    set(20)
    await eventually(() => assert.ok(lines(/no file descriptor is free: connections are dropped/).length >= 1))
    set(limit)
    const failing = await health()
    assert.equal(failing.status, 503)
    assert.match(failing.problem!, /no file descriptor of 256 was free/)
    assert.ok((await metric('waypost_file_descriptors_exhausted_total{listener="probe"}')) >= 1)
    assert.equal((await get(`${platform.baseUrl}/openapi.json`, otherAddress)).status, 200)
    assert.equal(await platform.kill('SIGTERM'), 0)
  })
})
