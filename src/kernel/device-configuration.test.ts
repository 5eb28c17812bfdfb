import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, rejectsWith, sendTo } from '../../test/harness/device-messages.ts'
import {
  configurationExtension,
  configurationPush,
  type DeviceConfiguration,
  type DeviceConfigurations,
  noConfiguration,
  noConfigurations,
} from './device-configuration.ts'
import { newId } from './ids.ts'

const name = 'ext'
const none = noConfiguration
const nothing = sendTo(
  configurationExtension({ name, configurations: noConfigurations, none, observe: async () => {} }),
)

type Report = Parameters<DeviceConfigurations['applied']>[1]

/** Creates a fake of the configurations service. It knows each `configId` that begins with `c`. */
function fakeConfigurations(current: Record<string, Omit<DeviceConfiguration, 'name'>> = {}) {
  const reports: Report[] = []
  const requestedNames: (string | undefined)[] = []
  const named = (name: string): DeviceConfiguration => ({ ...current[name]!, ...(name !== 'default' && { name }) })
  const configurations: DeviceConfigurations = {
    async current(_endpoint, name) {
      requestedNames.push(name)
      return current[name ?? 'default'] && named(name ?? 'default')
    },
    async applied(_endpoint, report) {
      await new Promise(setImmediate)
      if (report.configId.startsWith('c')) reports.push(report)
      return report.configId.startsWith('c')
    },
    outdated: async () => Object.keys(current).map(named),
  }
  return { configurations, reports, requestedNames }
}

/** Returns a device whose extension has these configurations. */
function aDevice(current?: Record<string, Omit<DeviceConfiguration, 'name'>>) {
  const fake = fakeConfigurations(current)
  const observed: unknown[] = []
  const observe = async (...given: unknown[]) => void observed.push(given.slice(1))
  const extension = configurationExtension({ name, configurations: fake.configurations, none, observe })
  const endpoint = aDeviceEndpoint({ endpointId: newId() })
  return { ...fake, endpoint, extension, observed, send: sendTo(extension, endpoint) }
}

const c1 = { configId: 'c1', config: { interval: 5 } }
const night = { configId: 'c2', config: [1, null] }
const full = (configuration: object) => ({ ...configuration, statusCode: 200, reasonPhrase: 'ok' })

suite('a request for a configuration', () => {
  test('a request for a configuration gets the configuration, with or without a request id', async () => {
    const { send } = aDevice({ default: c1 })
    for (const payload of ['', {}, { configId: null }, { configId: 'old' }, { configId: '', observe: null, more: 1 }])
      assert.deepEqual(await send('/config/json', payload), { payload: full(c1), always: true })
    assert.deepEqual(await send('/config/json', '', { requestId: 0 }), { payload: full(c1), always: true })
  })

  test('a request for a configuration gets exactly {} if the device already has the configuration', async () => {
    const { send } = aDevice({ default: c1 })
    assert.deepEqual(await send('/config/json', { configId: 'c1' }), { payload: {}, always: true })
  })

  test('a request for a configuration may name the configuration, even the default configuration', async () => {
    const { send, requestedNames } = aDevice({ default: c1, night })
    assert.deepEqual((await send('/config/json/night'))?.payload, full(night))
    assert.deepEqual((await send('/config/json/default'))?.payload, full(c1))
    assert.deepEqual((await send('/config/json/none'))?.payload, full({ configId: '', config: null }))
    assert.deepEqual(requestedNames, ['night', undefined, 'none'])
  })

  test('a request for a configuration gets an empty configuration if none exists', async () => {
    const none = { payload: full({ configId: '', config: null }), always: true }
    assert.deepEqual(await aDevice().send('/config/json', { configId: 'c1' }), none)
    assert.deepEqual(await aDevice().send('/config/json', { configId: '' }), none)
    assert.deepEqual(await nothing('/config/json'), none)
  })
})

suite('a report', () => {
  test('a report is recorded and gets an empty response; without a status it counts as applied', async () => {
    const { send, reports } = aDevice({ default: c1 })
    assert.deepEqual(await send('/applied/json', { configId: 'c1' }, { requestId: 1 }), {})
    assert.deepEqual(await send('/applied/json/night', { configId: 'c2', statusCode: 400, reasonPhrase: 'no' }), {})
    assert.deepEqual(await send('/applied/json/default', { configId: 'c3', reasonPhrase: null, statusCode: 0 }), {})
    assert.deepEqual(reports, [
      { configId: 'c1', statusCode: 200 },
      { name: 'night', configId: 'c2', statusCode: 400, reasonPhrase: 'no' },
      { configId: 'c3', statusCode: 0 },
    ])
  })

  test('a report of an unknown configId is an error if it has a request id, and ignored otherwise', async () => {
    const { send, reports } = aDevice()
    const error = await rejectsWith(send('/applied/json', { configId: 'x9' }, { requestId: 0 }), 404)
    assert.match(error.message, /x9/)
    assert.deepEqual(await send('/applied/json', { configId: 'x9' }), {})
    assert.deepEqual(reports, [])
    await rejectsWith(nothing('/applied/json', { configId: 'c1' }, { requestId: 0 }), 404)
    assert.deepEqual(await nothing('/applied/json', { configId: 'c1' }), {})
  })

  test('reports are recorded in the order of their arrival', async () => {
    const { send, reports } = aDevice()
    const ids = Array.from({ length: 20 }, (_, n) => `c${n}`)
    await Promise.all(ids.map((configId) => send('/applied/json', { configId })))
    assert.deepEqual(
      reports.map(({ configId }) => configId),
      ids,
    )
  })
})

suite('a bad message is rejected', () => {
  const bad: [path: string, payload: unknown, problem: RegExp][] = [
    ['/config/json', '{', /malformed/],
    ['/config/json', '[]', /payload: expected an object/],
    ['/config/json', 'true', /payload: expected an object/],
    ['/config/json', { configId: 5 }, /configId: expected a string or null/],
    ['/config/json', { configId: 'x'.repeat(1025) }, /configId: expected at most/],
    ['/config/json', { observe: 'false' }, /observe: expected true or false/],
    ['/config/json/a b', '', /name: expected/],
    ['/config/json/ключ', '', /name: expected/],
    [`/config/json/${'x'.repeat(256)}`, '', /name: expected/],
    ['/applied/json/a.b', { configId: 'c1' }, /name: expected/],
    ['/applied/json', '', /payload: expected JSON/],
    ['/applied/json', {}, /configId: is required/],
    ['/applied/json', { configId: null }, /configId: expected a string/],
    ['/applied/json', { configId: 'c1', statusCode: '200' }, /statusCode: expected an integer/],
    ['/applied/json', { configId: 'c1', statusCode: 1e12 }, /statusCode: expected a number/],
    ['/applied/json', { configId: 'c1', reasonPhrase: 5 }, /reasonPhrase: expected a string/],
  ]
  for (const [path, payload, problem] of bad)
    test(`the message ${path.slice(0, 40)} ${JSON.stringify(payload).slice(0, 40)} is rejected`, async () => {
      const { send, reports } = aDevice({ default: c1 })
      const error = await rejectsWith(send(path, payload), 400)
      assert.match(error.message, problem)
      assert.deepEqual(reports, [])
    })

  for (const path of [
    '',
    '/config',
    '/config/json/',
    '/config/json/a/b',
    '/applied',
    '/json',
    '/config/xml',
    '/status',
  ])
    test(`the unknown resource ${path} is rejected`, async () => void (await rejectsWith(aDevice().send(path), 404)))

  test('a name is accepted if and only if all of its characters are allowed', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), async (name) => {
        const status = await aDevice({})
          .send(`/config/json/${name}`)
          .then(
            () => 200,
            (error) => error.status,
          )
        assert.equal(status, /^[a-zA-Z0-9_-]+$/.test(name) ? 200 : name.includes('/') ? 404 : 400)
      }),
      { numRuns: 200 },
    ))
})

suite('pushes', () => {
  test('a push uses the resource path of its configuration name, and contains the fields that existing firmware requires', () => {
    assert.deepEqual(configurationPush(name, c1), {
      extension: name,
      name: 'default',
      resourcePath: '/config/json',
      payload: full(c1),
    })
    assert.deepEqual(configurationPush(name, { ...night, name: 'night' }), {
      extension: name,
      name: 'night',
      resourcePath: '/config/json/night',
      payload: full(night),
    })
    assert.equal(configurationPush(name, { ...c1, name: 'default' }).resourcePath, '/config/json')
  })

  test('pushes of outdated configurations are sent when the endpoint connects', async () => {
    const { extension, endpoint } = aDevice({ default: c1, night })
    assert.deepEqual(await extension.connected!(endpoint), [
      configurationPush(name, c1),
      configurationPush(name, { ...night, name: 'night' }),
    ])
    assert.deepEqual(await aDevice().extension.connected!(endpoint), [])
  })

  test('pushes can be turned off and on by name', async () => {
    const { send, observed } = aDevice({ default: c1, night })
    // The request that stops the pushes also gets a response.
    assert.deepEqual((await send('/config/json', { observe: false }))?.payload, full(c1))
    await send('/config/json/night', { observe: true })
    await send('/config/json', { configId: 'c1' })
    await send('/config/json/default', { observe: true })
    assert.deepEqual(observed, [
      [name, 'default', false],
      [name, 'night', true],
      [name, 'default', true],
    ])
  })
})
