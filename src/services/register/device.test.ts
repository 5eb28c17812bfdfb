import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { openRegister, root } from '../../../test/harness/register.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from './contract.ts'
import { endpointMetadata } from './device.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const [epmx] = waypost.built.get('register')!.device!
const register = waypost.ask(Register)

let open: { app: string; version: string }
let listed: { app: string; version: string }

before(async () => {
  open = await anApplication()
  listed = await anApplication()
  const keys = { serial: {}, city: { 'write-enabled': true }, floor: { 'write-enabled': true }, connected: {} }
  const config = { epmx: { platform: { applications: { [listed.app]: { 'metadata-keys': keys } } } } }
  const answer = await admin(`PUT /api/v1/app-configs/applications/${listed.app}`, config)
  assert.equal(answer.status, 204, answer.text)
})

/** Creates an endpoint with this metadata. Returns a function that sends messages and a function that reads its metadata. */
async function aDevice(metadata: object = {}, { app, version } = open) {
  const endpointId = await anEndpoint(version, { metadata })
  const send = sendTo(epmx!, aDeviceEndpoint({ endpointId, applicationName: app, versionName: version }))
  return { endpointId, send, stored: () => register.metadataOf(endpointId) }
}
const changedAt = new Date('2026-01-01T00:00:00.000Z')
const connectivity = { connected: true, connectivity_ts: changedAt.toISOString() }
const connect = (endpointId: string) =>
  register.setConnectivity([{ endpointId, connected: true, at: changedAt, number: 1 }])

suite('epmx reads', () => {
  test('/get/keys returns the keys and ignores the payload', async () => {
    const { send } = await aDevice({ city: 'Kyiv', floor: 3 })
    for (const payload of ['', '{}', 'not JSON', Buffer.from([0xff])])
      assert.deepEqual(await send('/get/keys', payload), { payload: ['city', 'floor'], always: true })
  })

  test('/get returns all metadata, or the requested keys that exist', async () => {
    const { send } = await aDevice({ city: 'Kyiv', floor: 3, place: { lat: 50.4 } })
    const everything = { city: 'Kyiv', floor: 3, place: { lat: 50.4 } }
    for (const payload of ['', {}, { keys: null }])
      assert.deepEqual(await send('/get', payload, { requestId: 0 }), { payload: everything, always: true })
    assert.deepEqual((await send('/get', { keys: ['floor', 'missing', 'floor'] }))?.payload, { floor: 3 })
    assert.deepEqual((await send('/get', { keys: [] }))?.payload, {})
  })

  test('/get also returns the metadata keys of the connectivity', async () => {
    const { send, endpointId } = await aDevice({ city: 'Kyiv' })
    await connect(endpointId)
    assert.deepEqual((await send('/get'))?.payload, { city: 'Kyiv', ...connectivity })
    assert.deepEqual((await send('/get', { keys: ['connected'] }))?.payload, { connected: true })
    assert.deepEqual((await send('/get/keys'))?.payload, ['city', 'connected', 'connectivity_ts'])
  })

  test('an unregistered endpoint reads nothing', async () => {
    const { send, endpointId } = await aDevice()
    await admin(`DELETE ${root}/endpoints/${endpointId}`)
    for (const path of ['/get', '/get/keys']) await rejectsWith(send(path), 404)
    await rejectsWith(send('/update/keys', { a: 1 }), 404)
    await rejectsWith(send('/update', { a: 1 }), 404)
  })
})

suite('epmx writes', () => {
  test('/update replaces all keys except the reserved keys', async () => {
    const { send, stored, endpointId } = await aDevice({ city: 'Kyiv', floor: 3 })
    await connect(endpointId)
    assert.deepEqual(await send('/update', { room: null, floor: 4 }), {})
    assert.deepEqual(await stored(), { room: null, floor: 4, ...connectivity })
    assert.deepEqual(await send('/update', { floor: 5, connected: false, connectivity_ts: 'x' }), {})
    assert.deepEqual(await stored(), { floor: 5, ...connectivity })
  })

  test('/update/keys merges by key', async () => {
    const { send, stored } = await aDevice({ city: 'Kyiv', place: { lat: 50, lon: 30 } })
    assert.deepEqual(await send('/update/keys', { place: { lat: 51 }, floor: [1] }), {})
    assert.deepEqual(await stored(), { city: 'Kyiv', place: { lat: 51 }, floor: [1] })
  })

  test('/delete/keys removes the given keys that exist', async () => {
    const { send, stored } = await aDevice({ city: 'Kyiv', floor: 3 })
    assert.deepEqual(await send('/delete/keys', ['floor', 'missing']), {})
    assert.deepEqual(await stored(), { city: 'Kyiv' })
  })

  test('__proto__ is a key like any other', async () => {
    const { send, stored } = await aDevice({ city: 'Kyiv' })
    await send('/update/keys', '{"__proto__": {"polluted": true}}')
    assert.deepEqual(Object.keys((await stored())!), ['city', '__proto__'])
    assert.equal(((await stored()) as { polluted?: true }).polluted, undefined)
    await send('/delete/keys', ['__proto__'])
    assert.deepEqual(await stored(), { city: 'Kyiv' })
  })

  test('writes publish an event', async () => {
    const { send, endpointId } = await aDevice({ city: 'Kyiv' })
    await send('/update', { city: 'Lviv', floor: 1 })
    const metadataChange = publishedEvents.find(
      ({ event, payload }) => event.endsWith('metadata-updated') && payload.endpointId === endpointId,
    )
    assert.deepEqual(metadataChange?.payload.added, { floor: '1' })
    assert.deepEqual(metadataChange?.payload.updated, { city: { newValue: '"Lviv"', oldValue: '"Kyiv"' } })
  })

  test('writes of one endpoint are processed in order, and reads see the previous writes', async () => {
    const { send, stored } = await aDevice({})
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => [send('/update/keys', { n }), send('/get', { keys: ['n'] })]).flat(),
    )
    const read = answers.flatMap((answer) => (answer?.payload ? [(answer.payload as { n: number }).n] : []))
    assert.deepEqual(
      read,
      Array.from({ length: 30 }, (_, n) => n),
    )
    assert.deepEqual(await stored(), { n: 29 })
  })

  test('after a failed write, later writes are processed', async () => {
    const { send, stored } = await aDevice({})
    const outcomes = await Promise.allSettled([send('/update/keys', { connected: 1 }), send('/update/keys', { a: 1 })])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    )
    assert.deepEqual(await stored(), { a: 1 })
  })

  test('any JSON value that a device writes is stored unchanged', async () => {
    const { send, stored } = await aDevice({})
    const key = fc.stringMatching(/^[a-zA-Z0-9_]{1,20}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { minKeys: 1, maxKeys: 5 }),
        async (metadata) => {
          const text = JSON.stringify(metadata)
          if (text.includes('\\u')) return
          await send('/update', text)
          assert.deepEqual(await stored(), JSON.parse(text))
        },
      ),
      { numRuns: 30 },
    )
  })
})

suite('epmx rejects', () => {
  const bad: [path: string, payload: unknown, problem: RegExp][] = [
    ['/get', '{', /malformed/],
    ['/get', [], /payload: expected an object/],
    ['/get', { keys: 'city' }, /keys: expected an array/],
    ['/get', { keys: [1] }, /keys\.0: expected a string/],
    ['/get', { keys: ['a-b'] }, /key "a-b"/],
    ['/get', { keys: [''] }, /key ""/],
    ['/update', '', /payload: expected JSON/],
    ['/update', {}, /payload: expected at least 1 key$/],
    ['/update', [], /payload: expected an object/],
    ['/update', 'null', /payload: expected an object/],
    ['/update', { 'a.b': 1 }, /key "a\.b"/],
    ['/update', { ключ: 1 }, /key "ключ"/],
    ['/update', { ['a'.repeat(129)]: 1 }, /up to 128/],
    ['/update', { a: 'x'.repeat(70_000) }, /bytes of JSON/],
    ['/update', Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`k${n}`, n])), /at most 500 keys/],
    ['/update', '{"a": "\\u0000"}', /NUL/],
    ['/update', Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
    ['/update/keys', {}, /payload: expected at least 1 key$/],
    ['/update/keys', { 'a b': 1 }, /key "a b"/],
    ['/update/keys', '{"a": 12345678901234567890}', /a: 12345678901234567890/],
    ['/delete/keys', '', /payload: expected JSON/],
    ['/delete/keys', [], /payload: expected at least 1 item/],
    ['/delete/keys', ['a', 'a'], /no item twice/],
    ['/delete/keys', [1], /0: expected a string/],
    ['/delete/keys', { keys: ['a'] }, /payload: expected an array/],
    ['/delete/keys', ['a/b'], /key "a\/b"/],
  ]
  for (const [path, payload, problem] of bad)
    test(`epmx rejects ${path} ${JSON.stringify(payload).slice(0, 40)}`, async () => {
      const { send, stored } = await aDevice({ city: 'Kyiv' })
      const error = await rejectsWith(send(path, payload, { requestId: 1 }), 400)
      assert.match(error.message, problem)
      assert.deepEqual(await stored(), { city: 'Kyiv' })
    })

  test('epmx rejects reserved keys', async () => {
    const { send, stored, endpointId } = await aDevice({})
    await connect(endpointId)
    for (const key of ['connected', 'connectivity_ts']) {
      await rejectsWith(send('/update/keys', { [key]: 1 }), 403)
      await rejectsWith(send('/delete/keys', [key]), 403)
    }
    assert.deepEqual(await stored(), connectivity)
  })

  test('epmx rejects unknown resources', async () => {
    const { send } = await aDevice({})
    for (const path of ['', '/', '/get/', '/get/key', '/update/key', '/delete', '/get/keys/a', '/update/keys/'])
      await rejectsWith(send(path, { a: 1 }), 404)
  })
})

suite('an allow list', () => {
  const all = { serial: 's-1', city: 'Kyiv', secret: 'x' }

  test('an allow list hides other keys in responses with all metadata, and rejects requests for them', async () => {
    const { send, endpointId } = await aDevice(all, listed)
    await connect(endpointId)
    assert.deepEqual((await send('/get'))?.payload, { serial: 's-1', city: 'Kyiv', connected: true })
    assert.deepEqual((await send('/get/keys'))?.payload, ['city', 'serial', 'connected'])
    assert.deepEqual((await send('/get', { keys: ['city'] }))?.payload, { city: 'Kyiv' })
    const error = await rejectsWith(send('/get', { keys: ['city', 'secret'] }), 403)
    assert.match(error.message, /secret cannot be read/)
    // The response for a key that does not exist is the same, so that no response reveals which keys exist.
    await rejectsWith(send('/get', { keys: ['unheard_of'] }), 403)
    await rejectsWith(send('/get', { keys: ['toString'] }), 403)
  })

  test('an allow list rejects writes of keys that are read-only or not on the list', async () => {
    const { send, stored } = await aDevice(all, listed)
    for (const key of ['serial', 'secret', 'other', 'connected', '__proto__']) {
      const error = await rejectsWith(send('/update/keys', `{"city": "Lviv", "${key}": 1}`), 403)
      assert.match(error.message, new RegExp(`${key} cannot be written`))
      await rejectsWith(send('/delete/keys', ['city', key]), 403)
      if (key !== 'connected') await rejectsWith(send('/update', `{"city": "Lviv", "${key}": 1}`), 403)
    }
    assert.deepEqual(await stored(), all)
  })

  test('an allow list keeps the keys that the device may not write when it replaces all metadata', async () => {
    const { send, stored, endpointId } = await aDevice(all, listed)
    await connect(endpointId)
    assert.deepEqual(await send('/update', { floor: 2, connected: false }), {})
    assert.deepEqual(await stored(), { serial: 's-1', secret: 'x', floor: 2, ...connectivity })
    assert.deepEqual(await send('/update/keys', { city: 'Lviv' }), {})
    assert.deepEqual(await send('/delete/keys', ['floor']), {})
    assert.deepEqual(await stored(), { serial: 's-1', secret: 'x', city: 'Lviv', ...connectivity })
  })

  test('an allow list keeps keys that users write while the device replaces all metadata', async () => {
    const { endpointId, stored } = await aDevice(all, listed)
    const interrupted: typeof register = {
      ...register,
      async updateMetadata(id, change) {
        await register.updateMetadata(id, { merge: { provisioned: true } })
        return await register.updateMetadata(id, change)
      },
    }
    const { app: applicationName, version: versionName } = listed
    const send = sendTo(
      endpointMetadata(interrupted, waypost.ask(Applications), () => undefined),
      aDeviceEndpoint({ endpointId, applicationName, versionName }),
    )
    assert.deepEqual(await send('/update', { floor: 2 }), {})
    assert.deepEqual(await stored(), { serial: 's-1', secret: 'x', provisioned: true, floor: 2 })
  })
})
