import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { aRecord, openTrafficLog, root } from '../../../test/harness/traffic-log.ts'

const { waypost, admin, record, log } = await openTrafficLog()
await addRealms(waypost, 'default')
for (const name of ['all', 'headers', 'errors', 'off', 'mixed']) {
  await admin('POST /api/v1/applications', { name })
  await admin(`POST /api/v1/applications/${name}/app-versions`, { nameSuffix: 'v1' })
}
const configure = (name: string, config: object) =>
  admin(`PUT /api/v1/app-configs/applications/${name}`, { al: { platform: { applications: { [name]: config } } } })

const found = async (version: string) => {
  const { body } = await admin(`GET ${root}/endpoint-traffic?appVersionName=${version}&sortOrder=asc`)
  return body.content.map(
    ({
      direction,
      payload,
      additionalMetadata,
    }: {
      direction: string
      payload: string
      additionalMetadata: object
    }) => ({
      direction,
      payload,
      ...additionalMetadata,
    }),
  )
}

/** Sends a message that is accepted, and a message that is rejected. */
async function exchange(applicationName: string) {
  const version = { applicationName, versionName: `${applicationName}-v1` }
  for (const [correlationId, statusCode, answer] of [
    ['good', 200, ''],
    ['bad', 400, '{"reasonPhrase":"Not JSON"}'],
  ] as const) {
    await record([
      { ...version, correlationId: `${applicationName} ${correlationId}`, payload: Buffer.from(correlationId) },
    ])
    await record([
      {
        ...version,
        correlationId: `${applicationName} ${correlationId}`,
        direction: 'OUTBOUND',
        payload: Buffer.from(answer),
        additionalMetadata: { transport: 'mqtt', statusCode },
      },
    ])
  }
}

suite('the level of an application', () => {
  before(async () => {
    for (const level of ['all', 'headers', 'errors', 'off']) {
      assert.equal((await configure(level, { level })).status, 204)
      await exchange(level)
    }
  })
  const reason = '{"reasonPhrase":"Not JSON"}'

  test('the level all keeps every message', async () => {
    assert.deepEqual(await found('all-v1'), [
      { direction: 'INBOUND', payload: 'good', transport: 'mqtt' },
      { direction: 'OUTBOUND', payload: '', transport: 'mqtt', statusCode: 200 },
      { direction: 'INBOUND', payload: 'bad', transport: 'mqtt' },
      { direction: 'OUTBOUND', payload: reason, transport: 'mqtt', statusCode: 400 },
    ])
  })

  test('the level headers records every message with the size of its payload, but without the payload', async () => {
    assert.deepEqual(await found('headers-v1'), [
      { direction: 'INBOUND', payload: '', transport: 'mqtt', payloadOmitted: true, payloadBytes: 4 },
      { direction: 'OUTBOUND', payload: '', transport: 'mqtt', statusCode: 200 },
      { direction: 'INBOUND', payload: '', transport: 'mqtt', payloadOmitted: true, payloadBytes: 3 },
      {
        direction: 'OUTBOUND',
        payload: '',
        transport: 'mqtt',
        statusCode: 400,
        payloadOmitted: true,
        payloadBytes: 27,
      },
    ])
    const [row] = await waypost.kit.db.sql`
      select sum(messages)::int as messages, sum(bytes)::int as bytes
      from (${log.statistics(waypost.kit.db.sql, 'default')}) as t where application_name = 'headers'`
    assert.deepEqual({ ...row }, { messages: 4, bytes: 34 })
  })

  test('the level errors keeps rejected messages and their responses', async () => {
    assert.deepEqual(await found('errors-v1'), [
      { direction: 'INBOUND', payload: 'bad', transport: 'mqtt' },
      { direction: 'OUTBOUND', payload: reason, transport: 'mqtt', statusCode: 400 },
    ])
  })

  test('the level off keeps no messages', async () => {
    assert.deepEqual(await found('off-v1'), [])
  })

  test('the level of a version replaces the level of its application, and a change applies to the next message', async () => {
    await configure('mixed', { level: 'off', versions: { 'mixed-v1': { level: 'headers' } } })
    await exchange('mixed')
    assert.equal((await found('mixed-v1')).length, 4)
    await configure('mixed', { versions: { 'mixed-v1': { level: 'off' } } })
    await exchange('mixed')
    assert.equal((await found('mixed-v1')).length, 4)
  })

  test('the level of an application must be all, headers, errors or off', async () => {
    const answer = await configure('all', { level: 'most' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /level/)
  })

  test('at the level errors, the number of messages that wait for their response is limited', async () => {
    const version = { applicationName: 'errors', versionName: 'errors-v1' }
    const recordResponse = (correlationId: string) =>
      log.record(aRecord({ ...version, correlationId, direction: 'OUTBOUND', additionalMetadata: { statusCode: 500 } }))
    for (let n = 0; n < 2001; n++) await log.record(aRecord({ ...version, correlationId: `waiting ${n}` }))
    const countBefore = (await found('errors-v1')).length
    await recordResponse('waiting 0')
    await recordResponse('waiting 2000')
    assert.equal((await found('errors-v1')).length, countBefore + 3)
  })
})
