/** Tests triggers over the HTTP API: the seven types, their endpoints, and schedules. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { triggerTypes } from '../model.ts'
import { triggerTypeDefinitions } from './trigger-types.ts'

const { waypost, admin, other, expectStatus, get, aTrigger, anApplication, anEndpoint } = await openRules()
const { app, version } = await anApplication()
const pathOf = (type: string, id = '') => `${rulesRoot}/trigger-types/${type}/triggers${id === '' ? '' : `/${id}`}`

suite('a trigger', () => {
  for (const type of triggerTypes)
    test(`a trigger of type ${type} is created, read, listed, changed and deleted`, async () => {
      const { example } = triggerTypeDefinitions[type]
      const body = { ...example, appName: app, metadata: { room: 1, __proto__: undefined } }
      const { headers } = await expectStatus(201, `POST ${pathOf(type)}`, body)
      const id = String(headers.location).split('/').at(-1)!
      const read = await admin(`GET ${pathOf(type, id)}`)
      const { createdAt, updatedAt, ...rest } = read.body
      assert.ok(createdAt && updatedAt)
      assert.deepEqual(rest, { ...body, id })
      const { etag } = read.headers as { etag: string }
      assert.equal((await admin(`GET ${pathOf(type, id)}`, undefined, { 'if-none-match': etag })).status, 304)
      const { appName: _, ...byVersion } = { ...body, appVersionName: version, name: 'changed' }
      assert.equal((await admin(`PUT ${pathOf(type, id)}`, byVersion, { 'if-match': '"x"' })).status, 412)
      assert.equal((await admin(`PUT ${pathOf(type, id)}`, byVersion, { 'if-match': etag })).status, 204)
      const { content } = await get(`/trigger-types/${type}/triggers?name=changed`)
      assert.deepEqual([content[0].id, content[0].appVersionName, 'appName' in content[0]], [id, version, false])
      for (const operation of ['GET', 'DELETE'])
        assert.equal((await other(`${operation} ${pathOf(type, id)}`)).status, 404)
      assert.equal((await other(`GET ${pathOf(type)}`)).body.totalElements, 0)
      await expectStatus(204, `DELETE ${pathOf(type, id)}`)
      await expectStatus(404, `GET ${pathOf(type, id)}`)
    })

  test('a trigger type can be addressed by its alias; the Location has the canonical name', async () => {
    const alias = 'endpoint-data-sample-updated'
    const { headers } = await expectStatus(201, `POST ${pathOf(alias)}`, { name: 'n', appName: app })
    assert.match(String(headers.location), /\/endpoint-data-samples-received\/triggers\//)
    const id = String(headers.location).split('/').at(-1)!
    await expectStatus(200, `GET ${pathOf(alias, id)}`)
    await expectStatus(204, `PUT ${pathOf(alias, id)}`, { name: 'm', appName: app })
    await expectStatus(204, `DELETE ${pathOf('endpoint-data-samples-received', id)}`)
  })

  test('a trigger names exactly one of application, version and endpoints; only a schedule may name none', async () => {
    const { endpointId } = await anEndpoint(version)
    const type = 'endpoint-metadata-updated'
    await expectStatus(201, `POST ${pathOf(type)}`, { name: 'n', endpointIds: [endpointId, endpointId] })
    for (const fields of [{}, { appName: app, appVersionName: version }, { appName: app, endpointIds: [endpointId] }]) {
      const { body } = await expectStatus(400, `POST ${pathOf(type)}`, { name: 'n', ...fields })
      assert.match(body.message, /^appName: expected exactly one of appName, appVersionName and endpointIds/)
    }
    await expectStatus(400, `POST ${pathOf(type)}`, { name: 'n', endpointIds: [] })
    await expectStatus(201, `POST ${pathOf('cron')}`, { name: 'n', cronExpression: '* * * * *' })
  })

  test('a trigger can only name objects that its writer may read', async () => {
    const { endpointId } = await anEndpoint(version)
    const type = 'endpoint-metadata-updated'
    const scope = `tenant:${type}-trigger:create`
    const withoutReadScope = waypost.as(aCaller({ on: { 'tenant-system': [scope] } }))
    const cases: [object, RegExp][] = [
      [{ appName: app }, /^appName: /],
      [{ appVersionName: version }, /^appVersionName: /],
      [{ endpointIds: [endpointId] }, /^endpointIds: /],
    ]
    for (const [fields, message] of cases)
      for (const ask of [withoutReadScope, other]) {
        const { body } = await expectStatus(400, `POST ${pathOf(type)}`, { name: 'n', ...fields }, ask)
        assert.match(body.message, message)
      }
    const on = { 'tenant-system': [scope], [`endpoint-${endpointId}`]: ['endpoint:read'] }
    await expectStatus(
      201,
      `POST ${pathOf(type)}`,
      { name: 'n', endpointIds: [endpointId] },
      waypost.as(aCaller({ on })),
    )
  })

  test('a trigger keeps the ids of deleted endpoints, even when the trigger is written again', async () => {
    const [gone, kept] = [await anEndpoint(version), await anEndpoint(version)]
    const endpointIds = [gone.endpointId, kept.endpointId]
    const type = 'endpoint-metadata-updated'
    const id = await aTrigger(type, { endpointIds })
    await expectStatus(204, `DELETE /epr/api/v1/endpoints/${gone.endpointId}`)
    await expectStatus(204, `PUT ${pathOf(type, id)}`, { name: 'again', endpointIds })
    assert.deepEqual((await get(`/trigger-types/${type}/triggers/${id}`)).endpointIds, endpointIds)
    await expectStatus(400, `POST ${pathOf(type)}`, { name: 'n', endpointIds })
  })
})

test('a metadata trigger with a key that no endpoint can have is answered with 400', async () => {
  for (const key of ['a b', 'ä', 'x'.repeat(129)]) {
    const body = { name: 'n', appName: app, metadataKeys: ['battery', key] }
    const answer = await expectStatus(400, `POST ${pathOf('endpoint-metadata-updated')}`, body)
    assert.match(answer.body.message, /^metadataKeys.1: /)
  }
})

test('a schedule with a wrong expression or time zone is answered with 400', async () => {
  const wrong = [
    '* * * *',
    '* * * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * FOO *',
    '5-2 * * * *',
    '*/0 * * * *',
    'a * * * *',
    '0 0 30 2 *',
    '0 0 31 FEB,APR,JUN ?',
  ]
  for (const cronExpression of wrong) {
    const { body } = await expectStatus(400, `POST ${pathOf('cron')}`, { name: 'n', cronExpression })
    assert.match(body.message, /^cronExpression: /)
  }
  const { body } = await expectStatus(400, `POST ${pathOf('cron')}`, {
    name: 'n',
    cronExpression: '* * * * *',
    timezone: 'Mars',
  })
  assert.match(body.message, /^timezone: /)
  for (const cronExpression of [
    '*/15 0 * * ? *',
    '0 7 1,15 JAN-MAR,DEC MON-FRI',
    '0 0 * * 7',
    '30 10 ? * 5-7',
    '0 0 29 2 *',
    '0 0 30 2 MON',
  ])
    await expectStatus(201, `POST ${pathOf('cron')}`, { name: 'n', cronExpression, timezone: 'Europe/Berlin' })
})
