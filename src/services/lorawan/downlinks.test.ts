import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openLorawan } from '../../../test/harness/lorawan.ts'
import { aBroker } from '../../../test/harness/mosquitto.ts'
import { CommandDispatched } from '../commands/events.ts'

const { expectStatus, admin, anIntegration, untilState, waypost } = await openLorawan()
const users = Array.from({ length: 30 }, (_, n) => `app${n}@ttn`)
const broker = await aBroker(users)
const network = await broker.network()
const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64')

async function connected(fields: object = {}) {
  const netUsername = users.pop()!
  const settings = { netMqttIntegrationEnabled: true, netPlainMqttServerUrl: `127.0.0.1:${broker.port}`, netUsername }
  const integration = await anIntegration(settings)
  const [device] = await integration.map([{ netDeviceId: 'dev', ...fields }])
  await untilState(integration.path, 'CONNECTED')
  const path = `/cex/api/v1/endpoints/${device.endpointId}/commands`
  return {
    ...integration,
    device,
    /** Invokes a command without waiting for its result. Returns its id. */
    async invoke(payload?: unknown, query = 'commandTtl=60000') {
      const { headers } = await expectStatus(
        202,
        `POST ${path}/set?awaitTimeout=0&${query}`,
        typeof payload === 'string' ? JSON.stringify(payload) : payload,
      )
      return Number(headers.location!.split('/').at(-1))
    },
    /** Invokes a command and waits for its result. */
    wait: (payload: unknown, query = 'commandTtl=60000') => admin(`POST ${path}/set?awaitTimeout=20&${query}`, payload),
    command: async (id: number) => (await expectStatus(200, `GET ${path}/set/${id}`)).body,
    /** Waits for the nth downlink of the device. */
    downlink: (nth = 0) =>
      eventually(() => {
        const found = network.pushed.filter(({ topic }) => topic === `v3/${netUsername}/devices/dev/down/push`)[nth]
        assert.ok(found, 'the network must get a downlink')
        return found.downlink
      }),
    downlinks: () => network.pushed.filter(({ topic }) => topic.includes(netUsername)).length,
    report: (reported: string, downlink: object, more: object = {}) =>
      network.report(netUsername, 'dev', reported, downlink, more),
  }
}

suite('a command becomes a downlink', () => {
  test('a command with an object is sent as decoded payload, with port, confirmation and a correlation id', async () => {
    const { invoke, downlink } = await connected({ downlinkFPort: 12, downlinkConfirmed: true })
    await invoke({ relay: true })
    const { correlation_ids: ids, ...rest } = await downlink()
    assert.deepEqual(rest, { f_port: 12, confirmed: true, priority: 'NORMAL', decoded_payload: { relay: true } })
    assert.equal(ids.length, 1)
  })

  test('the encoder of a formatter encodes the object of a command, and the port of the encoder takes precedence', async () => {
    const formatter = `function encodeDownlink(input) {
      return { bytes: [input.data.on ? 1 : 0, input.data.level], fPort: input.data.port, warnings: [] } }`
    const { invoke, downlink } = await connected({ formatter })
    await invoke({ on: true, level: 7, port: 42 })
    const { f_port, frm_payload, confirmed, decoded_payload } = await downlink()
    assert.deepEqual([f_port, frm_payload, confirmed, decoded_payload], [42, base64(1, 7), false, undefined])
    await invoke({ on: false, level: 9 })
    const second = await downlink(1)
    assert.deepEqual([second.f_port, second.frm_payload], [1, base64(0, 9)])
  })

  test('a command with a text is sent as bytes: base64 text unchanged, any other text encoded', async () => {
    const { invoke, downlink } = await connected()
    await invoke('AQID')
    assert.equal((await downlink()).frm_payload, 'AQID')
    await invoke('switch on!')
    assert.equal((await downlink(1)).frm_payload, Buffer.from('switch on!').toString('base64'))
  })

  test('a command whose payload is neither an object nor a text, or is rejected by the encoder, ends with 400', async () => {
    const formatter = 'function encodeDownlink(input) { return { errors: ["no level"] } }'
    const { invoke, command, path, device, downlinks } = await connected({ formatter })
    for (const [payload, reason] of [
      [5, /object or a text/],
      [[1], /object or a text/],
      [undefined, /object or a text/],
      [{ x: 1 }, /no level/],
    ] as const) {
      const id = await invoke(payload)
      await eventually(async () => {
        const { status, statusCode, reasonPhrase } = await command(id)
        assert.deepEqual([status, statusCode], ['EXECUTED', 400])
        assert.match(reasonPhrase, reason)
      })
    }
    assert.equal(downlinks(), 0)
    await eventually(async () =>
      assert.match((await expectStatus(200, `GET ${path}/devices/${device.id}`)).body.lastError ?? '', /no level/),
    )
  })

  test('the traffic log contains a downlink as a message of cex, and an event is published for the dispatched command', async () => {
    const dispatched: number[] = []
    waypost.kit.bus.subscribe(CommandDispatched, ({ commandId, endpointId }) => {
      if (endpointId === device.endpointId) dispatched.push(commandId)
    })
    const { invoke, device, downlink } = await connected()
    const id = await invoke({ a: 1 })
    await downlink()
    await eventually(() => assert.deepEqual(dispatched, [id]))
    await eventually(async () => {
      const { body } = await expectStatus(200, `GET /api/v1/al/endpoint-traffic?endpointIds=${device.endpointId}`)
      const [record] = body.content
      assert.deepEqual(
        [record?.extension, record?.direction, record?.resourcePath],
        ['cex', 'OUTBOUND', '/command/set'],
      )
      assert.equal(record.additionalMetadata.transport, 'lorawan')
    })
  })
})

suite('the status of a command follows the network', () => {
  const cases: [reported: string, isConfirmed: boolean, statusCode: number, reason: RegExp][] = [
    ['sent', false, 200, /Sent/],
    ['ack', true, 200, /Acknowledged/],
    ['nack', true, 504, /acknowledge/],
    ['failed', false, 502, /gateway not connected/],
  ]
  for (const [reported, downlinkConfirmed, statusCode, reason] of cases)
    test(`a command whose downlink is reported as ${reported} is EXECUTED with ${statusCode}`, async () => {
      const { wait, downlink, report, command } = await connected({ downlinkConfirmed })
      const waiting = wait({ a: 1 })
      const sent = await downlink()
      if (reported === 'failed')
        await report(reported, {}, { downlink: sent, error: { name: 'x', message_format: 'gateway not connected' } })
      else await report(reported, sent)
      const answer = await waiting
      assert.equal(answer.status, 200, answer.text)
      const { status, statusCode: code, reasonPhrase } = await command(1)
      assert.deepEqual([status, code], ['EXECUTED', statusCode])
      assert.match(reasonPhrase, reason)
    })

  test('the command of a confirmed downlink that was sent stays PENDING, and a command without a report expires', async () => {
    const { invoke, downlink, report, command } = await connected({ downlinkConfirmed: true })
    const id = await invoke({ a: 1 }, 'commandTtl=3000')
    await report('sent', await downlink())
    assert.equal((await command(id)).status, 'PENDING')
    await eventually(async () => assert.equal((await command(id)).status, 'EXPIRED'))
  })

  test('reports on unknown downlinks, reports of other integrations and malformed reports change nothing', async () => {
    const [mine, theirs] = [await connected(), await connected()]
    const id = await mine.invoke({ a: 1 })
    const downlink = await mine.downlink()
    await theirs.report('sent', downlink)
    await mine.report('sent', { correlation_ids: ['waypost:none', 5, null] })
    await mine.report('sent', { correlation_ids: 'waypost:x' })
    for (const payload of ['x', '[]', '{}', '{"downlink_sent":5}'])
      await network.raw(`v3/${mine.netUsername}/devices/dev/down/sent`, payload)
    const other = await theirs.invoke({ a: 2 })
    await theirs.report('sent', await theirs.downlink())
    await eventually(async () => assert.equal((await theirs.command(other)).status, 'EXECUTED'))
    assert.equal((await mine.command(id)).status, 'PENDING')
    await mine.report('sent', downlink)
    await eventually(async () => assert.equal((await mine.command(id)).status, 'EXECUTED'))
  })
})

suite('commands wait', () => {
  test('commands wait while the integration is suspended, and are each published once when it is resumed', async () => {
    const { invoke, downlink, path, downlinks, report, command } = await connected()
    await expectStatus(204, `PUT ${path}/status`, { status: 'SUSPENDED' })
    await untilState(path, 'DISCONNECTED')
    const ids = [await invoke({ n: 1 }), await invoke({ n: 2 })]
    assert.equal(downlinks(), 0)
    await expectStatus(204, `PUT ${path}/status`, { status: 'ACTIVE' })
    assert.deepEqual([(await downlink()).decoded_payload, (await downlink(1)).decoded_payload], [{ n: 1 }, { n: 2 }])
    await report('sent', await downlink(1))
    await eventually(async () => assert.equal((await command(ids[1]!)).status, 'EXECUTED'))
    assert.equal((await command(ids[0]!)).status, 'PENDING')
  })

  test('commands wait while the device integration is suspended', async () => {
    const { invoke, downlink, path, device, downlinks } = await connected()
    await expectStatus(204, `PUT ${path}/devices/${device.id}/status`, { status: 'SUSPENDED' })
    await invoke({ n: 1 })
    assert.equal(downlinks(), 0)
    await expectStatus(204, `PUT ${path}/devices/${device.id}/status`, { status: 'ACTIVE' })
    assert.deepEqual((await downlink()).decoded_payload, { n: 1 })
  })

  test('a downlink that the broker has acknowledged is not published again after a reconnect', async () => {
    const { invoke, downlink, path, downlinks } = await connected()
    await invoke({ n: 1 })
    await downlink()
    await expectStatus(200, `PATCH ${path}`, { netApiKeyId: 'wrong' })
    await untilState(path, 'DISCONNECTED', /refuses the user name or the API key/)
    await invoke({ n: 2 })
    await expectStatus(200, `PATCH ${path}`, { netApiKeyId: broker.password })
    assert.deepEqual((await downlink(1)).decoded_payload, { n: 2 })
    assert.equal(downlinks(), 2)
  })

  test('a command with commandTtl=0 is published if the integration is connected, and otherwise expires immediately', async () => {
    const { wait, downlink, report, path, command } = await connected()
    const waiting = wait({ n: 1 }, 'commandTtl=0')
    await report('sent', await downlink())
    assert.equal((await waiting).status, 200)
    await expectStatus(204, `PUT ${path}/status`, { status: 'SUSPENDED' })
    await untilState(path, 'DISCONNECTED')
    await wait({ n: 2 }, 'commandTtl=0')
    assert.equal((await command(2)).status, 'EXPIRED')
  })
})
