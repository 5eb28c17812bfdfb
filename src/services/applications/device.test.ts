import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { aDeviceEndpoint, rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import identity from '../../identity/index.ts'
import applications from './index.ts'

const waypost = await openTestPlatform({ services: [identity, applications] })
const admin = waypost.as(aTenantAdmin())
const [adx] = waypost.built.get('applications')!.device!

const send = sendTo(adx!)
const attribute = async (q: unknown) => await send('/json', { q }, { requestId: 1 })

before(async () => {
  await addRealms(waypost, 'default')
  await admin('POST /api/v1/applications', { name: 'app' })
  for (const nameSuffix of ['v1', 'v2']) await admin('POST /api/v1/applications/app/app-versions', { nameSuffix })
  const level = (config: object) => ({ adx: { platform: { applications: { app: config } } } })
  const answer = await admin('PUT /api/v1/app-configs/applications/app', {
    ...level({ limits: { low: 1, high: 9 }, colour: 'red', nothing: null, rooms: [{ id: 'a' }, { id: 'b' }] }),
  })
  assert.equal(answer.status, 204, answer.text)
  const version = await admin(
    'PUT /api/v1/app-configs/applications/app/app-versions/app-v2',
    level({ versions: { 'app-v2': { limits: { low: 2 } } } }),
  )
  assert.equal(version.status, 204, version.text)
})

suite('adx', () => {
  test('adx returns the value at the path, with or without a request id', async () => {
    assert.deepEqual(await attribute('limits.high'), { payload: 9, always: true })
    assert.deepEqual(await send('/json', { q: 'limits' }), { payload: { low: 1, high: 9 }, always: true })
    assert.deepEqual(await attribute('rooms.#.id'), { payload: ['a', 'b'], always: true })
    assert.deepEqual(await attribute('nothing'), { payload: null, always: true })
  })

  test('adx returns the value of the version if version and application have the same top-level key', async () => {
    const v2 = sendTo(adx!, aDeviceEndpoint({ versionName: 'app-v2' }))
    assert.deepEqual((await v2('/json', { q: '@this' }))?.payload, {
      limits: { low: 2 },
      colour: 'red',
      nothing: null,
      rooms: [{ id: 'a' }, { id: 'b' }],
    })
    await rejectsWith(v2('/json', { q: 'limits.high' }), 404)
  })

  test('adx returns an error if there is no attribute at the path', async () => {
    const error = await rejectsWith(attribute('limits.middle'), 404)
    assert.match(error.message, /limits\.middle/)
    await rejectsWith(
      sendTo(adx!, aDeviceEndpoint({ applicationName: 'other', versionName: 'other-v1' }))('/json', { q: 'a' }),
      404,
    )
  })

  test('adx shows no attributes of another tenant', async () => {
    await rejectsWith(sendTo(adx!, aDeviceEndpoint({ tenantId: 'another' }))('/json', { q: 'colour' }), 404)
  })

  const bad: [payload: unknown, problem: RegExp][] = [
    ['', /payload: expected JSON/],
    ['{"q": ', /malformed/],
    ['"colour"', /payload: expected an object/],
    [{}, /q: is required/],
    [{ q: 5 }, /q: expected a string/],
    [{ q: 'x'.repeat(1025) }, /q: expected at most 1024/],
    [{ q: 'rooms.#(id=="a")' }, /a query of GJSON is not supported/],
    ['{"q": "\\u0000"}', /NUL/],
  ]
  for (const [payload, problem] of bad)
    test(`adx rejects ${JSON.stringify(payload).slice(0, 40)}`, async () => {
      const error = await rejectsWith(send('/json', payload, { requestId: 1 }), 400)
      assert.match(error.message, problem)
    })

  test('adx has only the resource /json', async () => {
    for (const path of ['', '/', '/json/', '/json/x', '/jso']) await rejectsWith(send(path, { q: 'colour' }), 404)
  })
})
