import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openLorawan } from '../../../test/harness/lorawan.ts'
import { aBroker, uplinkOf } from '../../../test/harness/mosquitto.ts'
import { SamplesReceived } from '../time-series/events.ts'

const at = await openLorawan()
const { admin, expectStatus, anIntegration, valuesOf, untilState, waypost } = at
const users = Array.from({ length: 30 }, (_, n) => `app${n}@ttn`)
const broker = await aBroker(users)
const network = await broker.network()

/** Creates a connected integration with devices. */
async function connected(devices: object[] = [{ netDeviceId: 'dev' }], fields: object = {}) {
  const settings = { netMqttIntegrationEnabled: true, netPlainMqttServerUrl: `mqtt://127.0.0.1:${broker.port}` }
  const integration = await anIntegration({ ...settings, netUsername: users.pop(), ...fields })
  const created = await integration.map(devices)
  await untilState(integration.path, 'CONNECTED')
  const [device] = created
  const read = async () => (await expectStatus(200, `GET ${integration.path}/devices/${device.id}`)).body
  return {
    ...integration,
    devices: created,
    device,
    read,
    send: (uplink: object, message: object = {}) =>
      network.uplink(integration.netUsername, device.netDeviceId, uplink, message),
    raw: (payload: string | Buffer) =>
      network.raw(`v3/${integration.netUsername}/devices/${device.netDeviceId}/up`, payload),
    values: async (series: string) => (await valuesOf(integration.app, series))[device.endpointId] ?? [],
    counts: (statistics: object) =>
      eventually(async () =>
        assert.deepEqual((await read()).statistics, {
          received: 0,
          stored: 0,
          duplicates: 0,
          dropped: 0,
          ...statistics,
        }),
      ),
  }
}

const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64')

suite('an uplink becomes a sample', () => {
  test('an uplink becomes a sample of the decoded payload, at the time of the network', async () => {
    const { send, values, counts, read } = await connected()
    await send({ f_cnt: 1, decoded_payload: { t: 21.5, text: 'x' } }, { received_at: '2026-05-05T10:00:00.123456789Z' })
    await counts({ received: 1, stored: 1 })
    assert.deepEqual(await values('auto~t'), [['2026-05-05T10:00:00.123Z', 21.5]])
    const { lastUplinkAt, lastError } = await read()
    assert.deepEqual([lastUplinkAt, lastError], ['2026-05-05T10:00:00.123Z', undefined])
  })

  test('if the network gives a time far in the future, the uplink counts as received now', async () => {
    const { send, values, counts, read } = await connected()
    await send({ f_cnt: 1, decoded_payload: { t: 1 } }, { received_at: '2099-01-01T00:00:00Z' })
    await counts({ received: 1, stored: 1 })
    const { lastUplinkAt } = await read()
    assert.ok(Date.parse(lastUplinkAt) <= Date.now(), lastUplinkAt)
    assert.ok(Date.parse((await values('auto~t'))[0]![0]) <= Date.now())
  })

  test('an uplink becomes a sample with the values that the formatter decodes from its bytes', async () => {
    const formatter = `function decodeUplink(input) {
      return { data: { t: input.bytes[0] / 2, port: input.fPort, year: input.recvTime.getUTCFullYear() } } }`
    const { send, values, counts } = await connected([{ netDeviceId: 'dev', formatter }])
    await send(
      { f_cnt: 1, f_port: 5, frm_payload: base64(43), decoded_payload: { t: 0 } },
      { received_at: '2026-05-05T10:00:00Z' },
    )
    await counts({ received: 1, stored: 1 })
    const last = await Promise.all(['t', 'port', 'year'].map(async (name) => (await values(`auto~${name}`))[0]?.[1]))
    assert.deepEqual(last, [21.5, 5, 2026])
  })

  test('an uplink becomes a sample with the timestamp of its payload, if the payload has one', async () => {
    const { send, values, counts } = await connected()
    await send({ f_cnt: 1, decoded_payload: { t: 1, timestamp: '2026-04-04T04:04:04Z' } })
    await counts({ received: 1, stored: 1 })
    assert.deepEqual(await values('auto~t'), [['2026-04-04T04:04:04.000Z', 1]])
  })

  test('the traffic log contains the sample of an uplink as a message of dcx, and an event is published as for a sample of a device', async () => {
    const published: unknown[] = []
    waypost.kit.bus.subscribe(
      SamplesReceived,
      ({ messages }) => void published.push(...messages.flatMap((one) => one.samples)),
    )
    const { send, counts, device, id } = await connected()
    await send({ f_cnt: 7, f_port: 3, decoded_payload: { marker: 4711 } })
    await counts({ received: 1, stored: 1 })
    const [record] = await eventually(async () => {
      const { body } = await expectStatus(200, `GET /api/v1/al/endpoint-traffic?endpointIds=${device.endpointId}`)
      assert.equal(body.content.length, 1)
      return body.content
    })
    assert.deepEqual([record.extension, record.direction, record.resourcePath], ['dcx', 'INBOUND', '/json'])
    assert.deepEqual(JSON.parse(record.payload), { marker: 4711 })
    const metadata = {
      transport: 'lorawan',
      appIntegrationId: id,
      deviceIntegrationId: device.id,
      netDeviceId: 'dev',
      fCnt: 7,
      fPort: 3,
    }
    assert.deepEqual(record.additionalMetadata, metadata)
    await eventually(() => assert.deepEqual(published, [{ marker: 4711 }]))
  })

  test('each uplink gets a different time, even if the network received many uplinks in one millisecond', async () => {
    const { send, values, counts } = await connected()
    const received_at = '2026-05-05T10:00:00.5Z'
    for (let f_cnt = 0; f_cnt < 20; f_cnt++) await send({ f_cnt, decoded_payload: { t: f_cnt } }, { received_at })
    await counts({ received: 20, stored: 20 })
    assert.equal((await values('auto~t')).length, 20)
  })

  test('uplinks that arrive out of order keep the times at which the network received them', async () => {
    const { send, values, counts } = await connected()
    const seconds = [30, 10, 20, 20]
    for (const [f_cnt, second] of seconds.entries())
      await send({ f_cnt, decoded_payload: { t: f_cnt } }, { received_at: `2026-05-05T10:00:${second}Z` })
    await counts({ received: 4, stored: 4 })
    const times = new Map((await values('auto~t')).map(([time, value]) => [value, String(time).slice(17, 23)]))
    assert.deepEqual(
      [0, 1, 2, 3].map((value) => times.get(value)),
      ['30.000', '10.000', '20.000', '30.001'],
    )
  })
})

suite('the same uplink twice is one sample', () => {
  test('uplinks with the same device, session and counter become one sample', async () => {
    const { send, values, counts } = await connected()
    for (const [session_key_id, f_cnt] of [
      ['a', 1],
      ['a', 1],
      ['a', 2],
      ['b', 1],
      ['a', 1],
    ] as const)
      await send({ session_key_id, f_cnt, decoded_payload: { t: 1 } })
    await counts({ received: 5, stored: 3, duplicates: 2 })
    assert.equal((await values('auto~t')).length, 3)
  })

  test('an uplink with the counter 0, which networks omit, is also recognised as a repetition', async () => {
    const { send, counts } = await connected()
    for (let n = 0; n < 2; n++) await send({ decoded_payload: { t: n }, f_cnt: undefined })
    await counts({ received: 2, stored: 1, duplicates: 1 })
  })

  test('after an hour the same uplink counts as a new uplink', async () => {
    const { send, values, counts, device } = await connected()
    await send({ f_cnt: 1, decoded_payload: { t: 1 } })
    await counts({ received: 1, stored: 1 })
    await waypost.kit.db.sql`
      update lorawan.uplinks set claimed_at = claimed_at - interval '61 minutes' where device_integration_id = ${device.id}`
    await send({ f_cnt: 1, decoded_payload: { t: 2 } })
    await counts({ received: 2, stored: 2 })
    assert.equal((await values('auto~t')).length, 2)
  })

  test('equal uplinks that arrive at the same moment become one sample', async () => {
    const { send, counts, values } = await connected()
    await Promise.all(Array.from({ length: 50 }, (_, n) => send({ f_cnt: n % 5, decoded_payload: { t: n } })))
    await counts({ received: 50, stored: 5, duplicates: 45 })
    assert.equal((await values('auto~t')).length, 5)
  })

  test('an uplink that was claimed, but not stored before a crash, is stored with the time of the claim', async () => {
    const { send, values, counts, device } = await connected()
    await waypost.kit.db.sql`
      insert into lorawan.uplinks values (${device.id}, 'crash', 9, '2026-01-01 00:00:00Z', now(), false)`
    await send({ session_key_id: 'crash', f_cnt: 9, decoded_payload: { t: 5 } })
    await counts({ received: 1, stored: 1 })
    assert.deepEqual(await values('auto~t'), [['2026-01-01T00:00:00.000Z', 5]])
  })
})

suite('invalid uplinks', () => {
  const cases: [what: string, payload: string | Buffer, error: RegExp][] = [
    ['text instead of JSON', 'hello', /not JSON/],
    ['bytes instead of JSON', Buffer.from([0, 255, 254]), /not JSON/],
    ['a list instead of an object', '[1]', /uplink_message/],
    ['endless nesting', '['.repeat(200_000), /not JSON/],
    ['no uplink_message', '{}', /uplink_message/],
    ['a wrong counter', JSON.stringify(uplinkOf('dev', { f_cnt: 'x' })), /f_cnt/],
    ['a wrong port', JSON.stringify(uplinkOf('dev', { f_port: -1 })), /f_port/],
    ['a payload that is not base64', JSON.stringify(uplinkOf('dev', { frm_payload: '*' })), /frm_payload/],
    ['a wrong session', JSON.stringify(uplinkOf('dev', { session_key_id: 5 })), /session_key_id/],
    ['no payload', JSON.stringify(uplinkOf('dev', { f_cnt: 1 })), /neither/],
    [
      'more than a mebibyte',
      JSON.stringify(uplinkOf('dev', { decoded_payload: { x: 'y'.repeat(2_000_000) } })),
      /bytes/,
    ],
    ['a text as payload', JSON.stringify(uplinkOf('dev', { f_cnt: 2, decoded_payload: 'x' })), /not an object/],
  ]
  for (const [what, payload, error] of cases)
    test(`an uplink with ${what} is dropped, counted and explained`, async () => {
      const one = await shared
      const before = (await one.read()).statistics
      await one.raw(payload)
      await eventually(async () => {
        const { statistics, lastError } = await one.read()
        assert.deepEqual([statistics.received, statistics.dropped], [before.received + 1, before.dropped + 1])
        assert.match(lastError, error)
      })
    })
  const shared = connected()

  const formatters: [what: string, body: string, error: RegExp][] = [
    ['throws', 'throw new Error("broken byte")', /broken byte/],
    ['throws half of a surrogate pair', 'throw new Error("broken \\ud800")', /broken \ufffd/],
    ['reports errors', 'return { errors: ["unknown port", "x"] }', /unknown port; x/],
    ['returns no object', 'return { data: [1] }', /no object `data`/],
    ['never ends', 'for (;;) {}', /steps|seconds/],
    ['uses too much memory', 'const a = []; for (;;) a.push(new Array(1e5).fill(7))', /memory|steps|seconds/],
  ]
  for (const [what, body, error] of formatters)
    test(`an uplink is dropped if its formatter ${what}`, async () => {
      const formatter = `function decodeUplink(input) { if (input.fPort === 2) return { data: { t: 7 } }; ${body} }`
      const { send, counts, read, path, device } = await connected([{ netDeviceId: 'dev', formatter }])
      await send({ f_cnt: 1, frm_payload: base64(1) })
      await eventually(async () => assert.match((await read()).lastError ?? '', error), { withinMs: 15_000 })
      await send({ f_cnt: 2, f_port: 2, frm_payload: base64(1) })
      await counts({ received: 2, stored: 1, dropped: 1 })
      assert.ok((await expectStatus(200, `GET ${path}/devices/${device.id}`)).body.lastErrorAt)
    })

  test('a changed formatter is used for the next uplink', async () => {
    const { send, counts, path, device, values } = await connected()
    await send({ f_cnt: 1, frm_payload: base64(9) })
    await counts({ received: 1, dropped: 1 })
    const formatter = 'function decodeUplink({ bytes }) { return { data: { t: bytes[0] } } }'
    await expectStatus(200, `PATCH ${path}/devices/${device.id}`, { formatter })
    await send({ f_cnt: 2, frm_payload: base64(9) })
    await counts({ received: 2, dropped: 1, stored: 1 })
    assert.equal((await values('auto~t'))[0]?.[1], 9)
  })

  test('an uplink is dropped if the application does not allow the extension dcx', async () => {
    const { send, counts, app, read } = await connected()
    const allowed = { 'allowed-extension-instances': ['cex'] }
    await expectStatus(204, `PUT /api/v1/app-configs/applications/${app}`, {
      kpc: { platform: { applications: { [app]: allowed } } },
    })
    await send({ f_cnt: 1, decoded_payload: { t: 1 } })
    await counts({ received: 1, dropped: 1 })
    assert.match((await read()).lastError, /rejected \(404\)/)
  })

  test('an uplink is dropped, counted and explained while its device integration is suspended', async () => {
    const { send, counts, path, device } = await connected()
    await expectStatus(204, `PUT ${path}/devices/${device.id}/status`, { status: 'SUSPENDED' })
    await send({ f_cnt: 1, decoded_payload: { t: 1 } })
    await counts({ received: 1, dropped: 1 })
    await expectStatus(204, `PUT ${path}/devices/${device.id}/status`, { status: 'ACTIVE' })
    await send({ f_cnt: 2, decoded_payload: { t: 1 } })
    await counts({ received: 2, dropped: 1, stored: 1 })
  })
})

suite('uplinks without a device integration', () => {
  test('uplinks of devices without a device integration, and on other topics, change nothing', async () => {
    const { send, counts, netUsername, map, path } = await connected()
    for (let n = 0; n < 50; n++) await network.uplink(netUsername, 'stranger', { f_cnt: n, decoded_payload: { t: n } })
    await network.raw(`v3/${netUsername}/devices/dev/join`, '{}')
    await network.raw(
      `v3/other@ttn/devices/dev/up`,
      JSON.stringify(uplinkOf('dev', { f_cnt: 1, decoded_payload: { t: 1 } })),
    )
    await send({ f_cnt: 1, decoded_payload: { t: 1 } })
    await counts({ received: 1, stored: 1 })
    const [otherDevice] = await map([{ netDeviceId: 'stranger' }])
    await network.uplink(netUsername, 'stranger', { f_cnt: 99, decoded_payload: { t: 1 } })
    await eventually(async () =>
      assert.equal((await expectStatus(200, `GET ${path}/devices/${otherDevice.id}`)).body.statistics.stored, 1),
    )
  })

  test('a flood of uplinks of one integration delays an uplink of another integration by less than ten seconds', async () => {
    const [noisy, quiet] = [await connected(), await connected()]
    const flood = Promise.all(
      Array.from({ length: 3000 }, (_, n) =>
        network.raw(
          `v3/${noisy.netUsername}/devices/dev/up`,
          n % 2 ? 'garbage' : JSON.stringify(uplinkOf('dev', { f_cnt: n, decoded_payload: { t: n } })),
          1,
        ),
      ),
    )
    const began = Date.now()
    await quiet.send({ f_cnt: 1, decoded_payload: { t: 1 } })
    await quiet.counts({ received: 1, stored: 1 })
    assert.ok(Date.now() - began < 10_000)
    await flood
    await noisy.counts({ received: 3000, stored: 1500, dropped: 1500 })
    assert.equal((await noisy.values('auto~t')).length, 1500)
    assert.equal((await admin(`GET ${noisy.path}`)).status, 200)
  })
})
