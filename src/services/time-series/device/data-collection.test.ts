import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, rejectsWith, sendTo } from '../../../../test/harness/device-messages.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister } from '../../../../test/harness/register.ts'
import { createBatcher } from '../../../kernel/batcher.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import { DatabaseUnavailable } from '../../../kernel/errors.ts'
import { Applications } from '../../applications/contract.ts'
import { Register } from '../../register/contract.ts'
import type { ReceivedMessage, TimeSeries } from '../contract.ts'
import { dataCollection, plainSample } from '../device.ts'
import { type ReceivedSamples, SamplesReceived } from '../events.ts'
import { publishReceived } from '../write/publish-samples.ts'
import { createEnrichment } from './enrichment.ts'

type Collector = Pick<TimeSeries, 'collect'>
const { waypost, admin, anApplication, anEndpoint } = await openRegister()
let clockAheadMs = 0
const clock = { bus: waypost.kit.bus, now: () => new Date(Date.now() + clockAheadMs) }
const deps = {
  enriched: createEnrichment(clock, waypost.ask(Register), waypost.ask(Applications)),
  bus: waypost.kit.bus,
  connectivityChanged: async () => {},
}

function receiver(outcome: () => Promise<void> = async () => {}) {
  const collected: unknown[] = []
  const messages: DeviceMessage[] = []
  const timeSeries: Collector = {
    async collect(message, samples) {
      messages.push(message)
      await outcome()
      collected.push(...samples)
    },
  }
  return { timeSeries, collected, messages }
}

const busWithoutSubscribers = { isWanted: () => false }
const unchangedSamples = async (_endpoint: unknown, samples: unknown[]) => samples

function aDevice(own = receiver()) {
  const parts = { ...deps, enriched: unchangedSamples, bus: busWithoutSubscribers }
  return { ...own, sendMessage: sendTo(dataCollection({ ...parts, timeSeries: own.timeSeries })) }
}

suite('/json', () => {
  const cases: [payload: string, samples: unknown[]][] = [
    ['{"t": 21}', [{ t: 21 }]],
    ['[{"t": 21}, {"t": 22}]', [{ t: 21 }, { t: 22 }]],
    ['[85,34]', [85, 34]],
    ['[[85,34]]', [[85, 34]]],
    ['[null, "x", true, 5.5, {}]', [null, 'x', true, 5.5, {}]],
    ['5', [5]],
    ['"text"', ['text']],
    ['null', [null]],
    ['false', [false]],
    ['[]', []],
    ['[[]]', [[]]],
    ['{"at": 1784112000123456789, "id": -9223372036854775808}', [{ at: 1784112000123456800, id: -(2 ** 63) }]],
    ['[12345678901234567890]', [12345678901234567000]],
  ]
  for (const [payload, samples] of cases)
    test(`${payload} is ${samples.length} samples`, async () => {
      const { sendMessage, collected } = aDevice()
      assert.deepEqual(await sendMessage('/json', payload, { requestId: 5 }), {})
      assert.deepEqual(collected, samples)
    })

  test('the path /json may be followed by any text', async () => {
    const { sendMessage, collected } = aDevice()
    for (const path of ['/json/abc', '/json/', '/json/a/b', '/json/json'])
      assert.deepEqual(await sendMessage(path, '1'), {})
    assert.deepEqual(collected, [1, 1, 1, 1])
  })

  test('a message to /json is passed to the collector with its time of arrival and its endpoint', async () => {
    const { sendMessage, messages } = aDevice()
    const receivedAt = new Date('2026-05-05T05:05:05.005Z')
    await sendMessage('/json', '[1,2]', { receivedAt })
    assert.deepEqual(
      messages.map((message) => [message.receivedAt, message.endpoint.endpointId]),
      [[receivedAt, 'ep-1']],
    )
  })

  test('a payload of /json may be any JSON, which is passed to the collector unchanged', () =>
    fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const text = JSON.stringify(value)
        if (text.includes('\\u')) return
        const { sendMessage, collected } = aDevice()
        await sendMessage('/json', text)
        assert.deepEqual(collected, Array.isArray(value) ? JSON.parse(text) : [JSON.parse(text)])
      }),
    ))

  const bad: [payload: unknown, problem: RegExp][] = [
    ['', /payload: expected JSON/],
    ['{"t": }', /malformed/],
    ['[1, 2', /malformed/],
    ['NaN', /malformed/],
    ['{"t": 1} {"t": 2}', /malformed/],
    ['{"t": "\\u0000"}', /t: expected text without NUL/],
    [Buffer.from([0x22, 0xb0, 0x22]), /UTF-8/],
    [JSON.stringify(Array.from({ length: 10_001 }, () => 0)), /at most 10000 samples/],
    ['['.repeat(100), /deeper/],
    ['{"t": 1e400}', /t: 1e400 is not a number/],
  ]
  for (const [payload, problem] of bad)
    test(`/json rejects ${JSON.stringify(payload).slice(0, 40)} completely`, async () => {
      const { sendMessage, messages } = aDevice()
      const error = await rejectsWith(sendMessage('/json', payload), 400)
      assert.match(error.message, problem)
      assert.deepEqual(messages, [])
    })

  test('/json accepts ten thousand samples', async () => {
    const { sendMessage, collected } = aDevice()
    await sendMessage('/json', JSON.stringify(Array.from({ length: 10_000 }, (_, n) => n)))
    assert.equal(collected.length, 10_000)
  })
})

suite('/plain', () => {
  const cases: [payload: string, value: number, unit: string][] = [
    ['47', 47, 'number'],
    ['47%', 47, '%'],
    ['2061m', 2061, 'm'],
    ['-3.5°C', -3.5, '°C'],
    ['+2', 2, 'number'],
    ['.5', 0.5, 'number'],
    ['5.', 5, 'number'],
    ['1e3', 1000, 'number'],
    ['1e-3 V', 0.001, 'V'],
    ['5eV', 5, 'eV'],
    ['5e', 5, 'e'],
    ['007', 7, 'number'],
    [' 47 %\n', 47, '%'],
    ['12km/h', 12, 'km/h'],
    ['1 2', 1, '2'],
    ['1784112000123456789ns', 1784112000123456800, 'ns'],
  ]
  for (const [payload, value, unit] of cases)
    test(`${JSON.stringify(payload)} is ${value} ${unit}`, async () => {
      const { sendMessage, collected } = aDevice()
      assert.deepEqual(await sendMessage('/plain/altitude', payload), {})
      assert.deepEqual(collected, [{ 'altitude-value': value, 'altitude-unit': unit }])
    })

  const bad = ['', ' ', 'm', 'abc47', '--5', '%47', 'NaN', 'Infinity', '1e999', '{"a":1}', '5\0', '-']
  for (const payload of [...bad, `1${' '.repeat(300)}`, '9'.repeat(1_000_000), Buffer.from([0x35, 0xb0])])
    test(`/plain rejects ${JSON.stringify(payload).slice(0, 30)}`, async () => {
      const { sendMessage, messages } = aDevice()
      await rejectsWith(sendMessage('/plain/altitude', payload), 400)
      assert.deepEqual(messages, [])
    })

  test('/plain accepts a metric name of exactly one topic level', async () => {
    const { sendMessage } = aDevice()
    for (const path of ['/plain', '/plain/', '/plain/a/b']) await rejectsWith(sendMessage(path, '5'), 404)
    await rejectsWith(sendMessage(`/plain/${'x'.repeat(256)}`, '5'), 400)
    await rejectsWith(sendMessage('/plain/a\0b', '5'), 400)
    assert.deepEqual(plainSample('__proto__', Buffer.from('1')), { '__proto__-value': 1, '__proto__-unit': 'number' })
  })

  test('a payload of /plain may be any number with any unit', () =>
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom('', '%', 'm', 'kWh', '°C'),
        (value, unit) => {
          const sample = plainSample('m', Buffer.from(`${value}${unit}`))
          assert.deepEqual(sample, { 'm-value': value === 0 ? Number(`${value}`) : value, 'm-unit': unit || 'number' })
        },
      ),
    ))
})

suite('a message', () => {
  test('a message is acknowledged only when it is stored', async () => {
    let release = () => {}
    const commitGate = new Promise<void>((resolve) => {
      release = resolve
    })
    const { sendMessage, messages, collected } = aDevice(receiver(() => commitGate))
    let isDone = false
    const work = sendMessage('/json', '[1]').then(() => {
      isDone = true
    })
    await eventually(async () => assert.equal(messages.length, 1))
    assert.equal(isDone, false)
    release()
    await work
    assert.deepEqual(collected, [1])
  })

  test('a message fails when it cannot be stored', async () => {
    const failing = receiver(async () => {
      throw DatabaseUnavailable()
    })
    await rejectsWith(aDevice(failing).sendMessage('/json', '[1]'), 503)
  })

  test('a message to another resource is a 404', async () => {
    const { sendMessage } = aDevice()
    for (const path of ['', '/', '/jsonx', '/data', '/JSON']) await rejectsWith(sendMessage(path, '1'), 404)
  })
})

suite('enrichment', () => {
  const recorder = receiver()
  const extension = dataCollection({ ...deps, timeSeries: recorder.timeSeries })

  async function configure(app: string, config: object, version?: string) {
    const own = { 'metadata-enrichment': config }
    const level = version ? { versions: { [version]: own } } : own
    const path = `/api/v1/app-configs/applications/${app}${version ? `/app-versions/${version}` : ''}`
    return await admin(`PUT ${path}`, { dcx: { platform: { applications: { [app]: level } } } })
  }

  async function aSendingEndpoint(config: object | undefined, metadata: object, ofVersion?: object) {
    const { app, version } = await anApplication()
    if (config) assert.equal((await configure(app, config)).status, 204)
    if (ofVersion) assert.equal((await configure(app, ofVersion, version)).status, 204)
    const endpointId = await anEndpoint(version, { metadata })
    const endpoint = aDeviceEndpoint({ endpointId, applicationName: app, versionName: version })
    const sendMessage = sendTo(extension, endpoint)
    return {
      endpointId,
      async send(payload: unknown) {
        recorder.collected.splice(0)
        await sendMessage('/json', payload)
        return recorder.collected
      },
    }
  }

  test('enrichment is off by default', async () => {
    for (const config of [undefined, {}, { enabled: false }]) {
      const { send } = await aSendingEndpoint(config, { city: 'Kyiv' })
      assert.deepEqual(await send([{ t: 1 }]), [{ t: 1 }])
    }
  })

  test('enrichment adds the metadata to samples that are objects', async () => {
    const { send } = await aSendingEndpoint({ enabled: true }, { city: 'Kyiv' })
    const sample = { t: 1, '~ep-metadata': { city: 'Kyiv' } }
    assert.deepEqual(await send([{ t: 1 }, 5, null, [{ t: 1 }], 'x']), [sample, 5, null, [{ t: 1 }], 'x'])
    assert.deepEqual(await send({ t: 1, '~ep-metadata': 'made up' }), [sample])
    assert.deepEqual(await send([1, 2]), [1, 2])
  })

  test('enrichment uses the configured path', async () => {
    const { send } = await aSendingEndpoint({ enabled: true, path: 'about' }, { city: 'Kyiv' })
    assert.deepEqual(await send({ t: 1 }), [{ t: 1, about: { city: 'Kyiv' } }])
  })

  test('enrichment uses the configuration of the version if there is one', async () => {
    const on = await aSendingEndpoint({ enabled: false }, { city: 'Kyiv' }, { enabled: true, path: 'about' })
    assert.deepEqual(await on.send({ t: 1 }), [{ t: 1, about: { city: 'Kyiv' } }])
    const off = await aSendingEndpoint({ enabled: true }, { city: 'Kyiv' }, { enabled: false })
    assert.deepEqual(await off.send({ t: 1 }), [{ t: 1 }])
  })

  test('enrichment rejects an invalid configuration', async () => {
    const { app } = await anApplication()
    for (const config of [{ enabled: 'yes' }, { enabled: true, path: '' }, { enabled: true, path: 5 }, true])
      assert.equal((await configure(app, config as object)).status, 400, JSON.stringify(config))
  })

  test('enrichment uses changed metadata immediately', async () => {
    const { send, endpointId } = await aSendingEndpoint({ enabled: true }, { city: 'Kyiv' })
    await send({ t: 1 })
    await waypost.ask(Register).updateMetadata(endpointId, { merge: { city: 'Lviv' } })
    assert.deepEqual(await send({ t: 2 }), [{ t: 2, '~ep-metadata': { city: 'Lviv' } }])
    const at = new Date('2026-01-01T00:00:00.000Z')
    await waypost.ask(Register).setConnectivity([{ endpointId, connected: true, at, number: 1 }])
    const metadata = { city: 'Lviv', connected: true, connectivity_ts: at.toISOString() }
    assert.deepEqual(await send({ t: 3 }), [{ t: 3, '~ep-metadata': metadata }])
  })

  test('enrichment reads metadata again after a while, because not every change on another node is signalled', async () => {
    const { send, endpointId } = await aSendingEndpoint({ enabled: true }, { city: 'Kyiv' })
    await send({ t: 1 })
    await waypost.kit.db
      .sql`update register.endpoints set metadata = '{"city": "Lviv"}' where endpoint_id = ${endpointId}`
    assert.deepEqual(await send({ t: 2 }), [{ t: 2, '~ep-metadata': { city: 'Kyiv' } }])
    clockAheadMs += 30_000
    assert.deepEqual(await send({ t: 3 }), [{ t: 3, '~ep-metadata': { city: 'Lviv' } }])
  })

  test('enrichment rejects a message whose enriched samples exceed the limit', async () => {
    const { send } = await aSendingEndpoint({ enabled: true }, { text: 'x'.repeat(60_000) })
    const error = await rejectsWith(send(Array.from({ length: 1000 }, () => ({}))), 400)
    assert.match(error.message, /expected at most \d+ samples/)
    assert.equal((await send(Array.from({ length: 100 }, () => ({})))).length, 100)
  })
})

suite('a service that handles samples', () => {
  // These tests must be the last in the file, because they add a service that handles the event.
  const publishedSamples: { applicationName: string; messages: ReceivedSamples[] }[] = []
  const publish = createBatcher(async (received: ReceivedMessage[]) => {
    await waypost.kit.db.tx((sql) => publishReceived(waypost.kit.bus, sql, received))
    return received
  }, 1000)
  const collect: Collector['collect'] = async (_message, samples, received) => {
    if (samples.includes('bad')) throw DatabaseUnavailable()
    if (received) await publish(received)
  }
  const extension = dataCollection({ ...deps, timeSeries: { collect } })
  const listen = () =>
    waypost.kit.bus.handle('test.samples', SamplesReceived, async (_, event) => {
      publishedSamples.push(event)
    })

  async function aSendingEndpoint(config: object = {}) {
    const { app, version } = await anApplication()
    const envelope = { dcx: { platform: { applications: { [app]: { 'metadata-enrichment': config } } } } }
    assert.equal((await admin(`PUT /api/v1/app-configs/applications/${app}`, envelope)).status, 204)
    const endpointId = await anEndpoint(version, { metadata: { text: 'x'.repeat(30_000) } })
    return {
      app,
      version,
      endpointId,
      sendMessage: sendTo(extension, aDeviceEndpoint({ endpointId, applicationName: app, versionName: version })),
    }
  }
  const rows = async () =>
    (await waypost.kit.db.sql`select count(*)::int as n from kernel.outbox where event = ${SamplesReceived.name}`)[0]!.n

  test('without a service that handles samples no event is built', async () => {
    const { sendMessage } = await aSendingEndpoint()
    await sendMessage('/json', '[1]')
    assert.equal(await rows(), 0)
    listen()
  })

  test('a service that handles samples gets the stored samples before the device gets the acknowledgement', async () => {
    const { sendMessage, app, version, endpointId } = await aSendingEndpoint()
    const receivedAt = new Date('2026-05-05T05:05:05.005Z')
    await sendMessage('/json', '[{"t": 1}, "text"]', { receivedAt, correlationId: 'c-7' })
    const message = { endpointId, versionName: version, receivedAt: receivedAt.toISOString(), correlationId: 'c-7' }
    await eventually(() =>
      assert.deepEqual(publishedSamples.splice(0), [
        { tenantId: 'default', applicationName: app, messages: [{ ...message, samples: [{ t: 1 }, 'text'] }] },
      ]),
    )
  })

  test('a service that handles samples does not get rejected messages', async () => {
    const { sendMessage } = await aSendingEndpoint()
    await rejectsWith(sendMessage('/json', '["bad"]'), 503)
    await rejectsWith(sendMessage('/json', '['), 400)
    await sendMessage('/json', '["good"]')
    await eventually(() => assert.equal(publishedSamples.length, 1))
    assert.deepEqual(publishedSamples.splice(0)[0]!.messages[0]!.samples, ['good'])
  })

  test('a service that handles samples gets many samples in a few events of limited size', async () => {
    const many = await aSendingEndpoint()
    await Promise.all(Array.from({ length: 700 }, (_, n) => many.sendMessage('/json', `[${n}]`)))
    const rich = await aSendingEndpoint({ enabled: true })
    await rich.sendMessage('/json', JSON.stringify(Array.from({ length: 100 }, (_, n) => ({ n }))))
    const eventsOf = (app: string) => publishedSamples.filter(({ applicationName }) => applicationName === app)
    const samplesOf = (app: string) =>
      eventsOf(app).flatMap(({ messages }) => messages.flatMap(({ samples }) => samples))
    await eventually(() => assert.equal(samplesOf(rich.app).length, 100))
    assert.deepEqual(
      (samplesOf(many.app) as number[]).toSorted((a, b) => a - b),
      Array.from({ length: 700 }, (_, n) => n),
    )
    assert.ok(eventsOf(many.app).length < 20)
    assert.ok(eventsOf(rich.app).every((event) => JSON.stringify(event).length < 1.1 * 1024 * 1024))
    assert.deepEqual(
      samplesOf(rich.app).map((sample) => (sample as { n: number }).n),
      Array.from({ length: 100 }, (_, n) => n),
    )
  })
})
