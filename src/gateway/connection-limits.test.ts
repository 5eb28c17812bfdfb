import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { aDevice, type TestDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connected, rawClient } from '../../test/harness/mqtt-raw.ts'
import { networkOf } from '../kernel/client-address.ts'
import { createConnectionLimits, type Slot } from './connection-limits.ts'
import type { ConnectionState } from './connection-state.ts'
import type { Accepted } from './mqtt/host.ts'

describe('connections of one address', () => {
  function someLimits({ max = 100, anonymousPerAddress = 3, perAddress = 0 }) {
    const events: string[] = []
    const recorderOf = (what: string) => (reason: string, address: string) =>
      void events.push(`${what} ${reason} ${address}`)
    const share = { max, perAddress: max, open: 0, refused: recorderOf('refused'), evicted: recorderOf('evicted') }
    let at = 0
    const limits = createConnectionLimits({ share, anonymousPerAddress, perAddress, recordRefusal() {}, now: () => at })
    const acquire = (address: string) => limits.acquireSlot('mqtt', address, new PassThrough())
    const advanceClock = (ms: number) => {
      at += ms
    }
    return { limits, share, events, arrive: acquire, later: advanceClock }
  }
  const busy = {
    open: false,
    client: {},
    evict: () => assert.fail('the connection was evicted'),
  } as unknown as Accepted<ConnectionState>
  const isGone = ({ socket }: Slot) => socket.destroyed

  test('at the limit, the oldest anonymous connection is evicted when its grace period has ended', () => {
    const { arrive, later, events, share } = someLimits({})
    const first = arrive('a')!
    later(1000)
    const others = [arrive('a'), arrive('a'), arrive('a'), arrive('a')]
    assert.ok(others.every((slot) => slot && !isGone(slot)))
    later(1100)
    arrive('b')
    assert.ok(!isGone(first))
    arrive('a')
    assert.ok(isGone(first))
    assert.deepEqual(
      others.map((slot) => isGone(slot!)),
      [false, false, false, false],
    )
    assert.deepEqual(events, ['evicted address a'])
    assert.equal(share.open, 7)
  })

  test('a connection is not evicted if it has presented a valid token, or while its token is being looked up', () => {
    const { limits, arrive, later } = someLimits({ anonymousPerAddress: 2 })
    const [known, waiting, silent] = [arrive('a')!, arrive('a')!, arrive('a')!]
    waiting.accepted = busy
    limits.setEvictionClass(known, 'protected')
    later(5000)
    arrive('a')
    assert.deepEqual([known, waiting, silent].map(isGone), [false, false, true])
  })

  test('at the total limit, anonymous connections are evicted first, then idle connections; otherwise new connections are refused', () => {
    const { limits, arrive, events, share } = someLimits({ max: 3, anonymousPerAddress: 100 })
    const [left, known] = [arrive('a')!, arrive('b')!]
    for (const slot of [left, known]) limits.setEvictionClass(slot, 'protected')
    const anonymous = arrive('c')!
    limits.setEvictionClass(left, 'idle')
    const next = arrive('d')!
    assert.deepEqual([left, known, anonymous].map(isGone), [false, false, true])
    limits.releaseSlot(anonymous)
    limits.setEvictionClass(next, 'protected')
    const last = arrive('e')!
    assert.ok(isGone(left))
    limits.releaseSlot(left)
    limits.setEvictionClass(last, 'protected')
    assert.equal(arrive('f')?.refusal, 'busy')
    assert.deepEqual(events, ['evicted total c', 'evicted total a', 'refused total f'])
    assert.equal(share.open, 4)
  })

  test('a limited number of refused connections stays open until CONNECT; further refused connections are closed immediately', () => {
    const { limits, arrive, share } = someLimits({ max: 1 })
    limits.setEvictionClass(arrive('a')!, 'protected')
    const answers = Array.from({ length: 100 }, () => arrive('a'))
    const kept = answers.flatMap((slot) => slot ?? [])
    assert.equal(kept.length, 32)
    assert.equal(share.open, 33)
    for (const slot of kept) limits.releaseSlot(slot)
    assert.equal(share.open, 1)
  })

  test('the limit of one address does not affect other addresses', () => {
    const { limits, arrive } = someLimits({ perAddress: 2 })
    for (const slot of [arrive('a')!, arrive('a')!]) limits.setEvictionClass(slot, 'protected')
    assert.equal(arrive('a')?.refusal, 'quota_exceeded')
    assert.equal(arrive('b')?.refusal, undefined)
  })

  test('a refused connection stays in the eviction class "closing"', () => {
    const { limits, arrive } = someLimits({ max: 1 })
    limits.setEvictionClass(arrive('a')!, 'protected')
    const refused = arrive('b')!
    limits.setEvictionClass(refused, 'protected')
    assert.equal(refused.evictionClass, 'closing')
  })

  test('changes of the eviction class of a closed connection are ignored', () => {
    const { limits, arrive, share } = someLimits({ max: 1 })
    const gone = arrive('a')!
    limits.releaseSlot(gone)
    limits.setEvictionClass(gone, 'idle')
    limits.setEvictionClass(arrive('a')!, 'protected')
    assert.equal(arrive('a')?.refusal, 'busy')
    assert.equal(share.open, 2)
  })

  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
  ] as const)
    test(`the address ${address} counts as the network ${network}`, () => assert.equal(networkOf(address), network))
})

test('a fleet behind one address that reconnects at the same time is accepted, although it exceeds the limit of anonymous connections', async () => {
  const fixture = await openGateway({ environment: { WAYPOST_MQTT_STRANGERS_PER_ADDRESS: '10' } })
  const { version } = await fixture.anApplication()
  const tokens = await Promise.all(Array.from({ length: 100 }, async () => (await fixture.anEndpoint(version)).token))
  const devices = await Promise.all(
    tokens.map(async (token) => {
      const device = await fixture.device()
      await device.publish(`kp1/${version}/test/${token}/json`, '1')
      return device
    }),
  )
  assert.ok(devices.every(({ client }) => client.connected))
  assert.equal(fixture.waypost.kit.descriptors.mqtt.open, 100)
})

describe('over sockets', async () => {
  const fixture = await openGateway({ environment: { WAYPOST_MQTT_CONNECTIONS: '4' } })
  const port = Number(new URL(fixture.mqttUrl).port)
  const { username, password } = await fixture.aBasicCredential()
  const login = { username: `${username}@default`, password }
  const { mqtt } = fixture.waypost.kit.descriptors
  const open = (count: number) => eventually(() => assert.equal(mqtt.open, count))
  const endAll = async (devices: TestDevice[]) => {
    for (const device of devices) await device.end()
    await open(0)
  }

  test('anonymous connections are evicted for new devices, with a reason code', async () => {
    const [raw, silent] = [await rawClient(port), await connected(port, { clientId: 'silent', protocolVersion: 5 })]
    const [first, second] = [await fixture.aProvisionedEndpoint(), await fixture.aProvisionedEndpoint()]
    const devices = [await fixture.device(), await fixture.device(login)]
    await devices[0]!.publish(`${first.prefix}/json`, '1')
    for (const gone of [raw, silent]) {
      devices.push(await fixture.device())
      await devices.at(-1)!.publish(`${second.prefix}/json`, '1')
      const [last] = await gone.closed()
      if (gone === silent) assert.equal(last?.cmd === 'disconnect' && last.reasonCode, 0x97)
    }
    assert.ok(devices.every(({ client }) => client.connected))
    // The second endpoint has moved from the third connection to the fourth. The third connection therefore represents no endpoint and is
    // evicted next.
    devices.push(await fixture.device())
    await devices[2]!.closed()
    await endAll(devices)
    await eventually(async () => {
      const [row] = await fixture.waypost.kit.db.sql`select count from traffic_log.refusals where reason = 'evicted'`
      assert.ok(Number(row?.count) > 0)
    })
    const text = await fixture.waypost.kit.metrics.text()
    assert.match(text, /^waypost_connections_evicted_total\{listener="mqtt",reason="total"\} 3$/m)
  })

  test('at the total limit without evictable connections, the next CONNECT is refused', async () => {
    const devices: TestDevice[] = []
    for (let n = 0; n < 3; n++) devices.push(await fixture.device(login))
    devices.push(await aDevice(`${fixture.wsUrl}/mqtt`, login))
    const version4 = await connected(port)
    assert.equal(version4.connack.returnCode, 3)
    await version4.closed()
    const version5 = await connected(port, { protocolVersion: 5 })
    assert.equal(version5.connack.reasonCode, 0x89)
    await version5.closed()
    const secure = aDevice(fixture.mqttsUrl, { ...login, rejectUnauthorized: false })
    await assert.rejects(secure, { code: 3 })
    await assert.rejects(aDevice(`${fixture.wsUrl}/mqtt`, login), /503|closed before/)
    assert.ok(devices.every(({ client }) => client.connected))
    await open(4)
    await devices.pop()!.end()
    await open(3)
    devices.push(await fixture.device(login))
    await endAll(devices)
    const text = await fixture.waypost.kit.metrics.text()
    assert.match(text, /^waypost_connections_refused_total\{listener="mqtt",reason="total"\} 4$/m)
  })

  test('a connection that does not begin its TLS handshake is also evicted', async () => {
    const idle = await rawClient(Number(new URL(fixture.mqttsUrl).port))
    await open(1)
    const devices: TestDevice[] = []
    for (let n = 0; n < 4; n++) devices.push(await fixture.device(login))
    await idle.closed()
    await endAll(devices)
  })
})
