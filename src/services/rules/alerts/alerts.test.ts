/** Tests alerts over the HTTP API. The tests activate alerts in the same way as rules do. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type AlertEndpoint, openAlerts } from '../../../../test/harness/alerts.ts'
import { aCaller } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { newId } from '../../../kernel/ids.ts'
import { Register } from '../../register/contract.ts'
import { createAlertChanges } from './service/changes.ts'
import { createAlertDeletions } from './service/deletions.ts'

const { waypost, admin, other, anEndpoint, activate, resolveOpen, list, published, root } = await openAlerts()
const { sql } = waypost.kit.db

const get = async (id: string) => (await admin(`GET ${root}/alerts/${id}`)).body
const eventsOf = async (id: string) =>
  (await admin(`GET ${root}/alerts/${id}/lifecycle-events?sortOrder=asc`)).body.content as {
    id: string
    eventType: string
    userId?: string
    payload: Record<string, unknown>
  }[]
const typesOf = async (id: string) => (await eventsOf(id)).map(({ eventType }) => eventType)

suite('an activation', () => {
  test('an activation opens an alert with all of its fields', async () => {
    const endpoint = await anEndpoint({ room: 'north', battery: { level: 3 } })
    const { alertId, change } = await activate(endpoint, {
      alertType: 'HIGH_TEMPERATURE',
      severityLevel: 'HIGH',
      message: '31 °C',
      metadata: { temperature: 31 },
    })
    assert.equal(change, 'ACTIVATED')
    const { startedAt, lastActiveAt, ...alert } = await get(alertId)
    assert.deepEqual(alert, {
      id: alertId,
      alertType: 'HIGH_TEMPERATURE',
      severityLevel: 'HIGH',
      entityType: 'ENDPOINT',
      entityId: endpoint.endpointId,
      tenantId: 'default',
      state: 'OPEN',
      acknowledgement: 'UNACKNOWLEDGED',
      message: '31 °C',
      activateReason: '31 °C',
      metadata: { temperature: 31 },
      entityMetadata: { room: 'north', battery: { level: 3 } },
    })
    assert.equal(startedAt, lastActiveAt)
    const [event] = await eventsOf(alertId)
    assert.deepEqual(
      [event!.eventType, event!.payload, 'userId' in event!],
      ['ACTIVATED', { severityLevel: 'HIGH', acknowledgement: 'UNACKNOWLEDGED', message: '31 °C' }, false],
    )
  })

  test('an activation of an open alert changes only lastActiveAt; a new severity or message also changes the alert and adds the event UPDATED', async () => {
    const endpoint = await anEndpoint()
    const first = await activate(endpoint, { severityLevel: 'LOW', message: 'a', metadata: { n: 1 } })
    const before = await get(first.alertId)
    assert.deepEqual(await activate(endpoint, { severityLevel: 'LOW', message: 'a' }), {
      alertId: first.alertId,
      change: 'RENEWED',
    })
    const renewed = await get(first.alertId)
    assert.ok(renewed.lastActiveAt > before.lastActiveAt)
    assert.deepEqual({ ...renewed, lastActiveAt: before.lastActiveAt }, before)
    assert.equal((await activate(endpoint, { severityLevel: 'HIGH', metadata: { n: 2 } })).change, 'UPDATED')
    assert.equal((await activate(endpoint, { severityLevel: 'HIGH', message: 'b' })).change, 'UPDATED')
    const updated = await get(first.alertId)
    assert.deepEqual([updated.severityLevel, updated.message, updated.metadata], ['HIGH', 'b', { n: 2 }])
    assert.deepEqual(await typesOf(first.alertId), ['ACTIVATED', 'UPDATED', 'UPDATED'])
  })

  test('an activation with only new metadata replaces the metadata, keeps the message and adds no event', async () => {
    const endpoint = await anEndpoint()
    const { alertId } = await activate(endpoint, { message: 'a', metadata: { n: 1 } })
    assert.equal((await activate(endpoint, { metadata: { n: 2 } })).change, 'RENEWED')
    const { message, activateReason, metadata } = await get(alertId)
    assert.deepEqual({ message, activateReason, metadata }, { message: 'a', activateReason: 'a', metadata: { n: 2 } })
    assert.deepEqual(await typesOf(alertId), ['ACTIVATED'])
  })

  test('an activation after the resolution opens a new alert', async () => {
    const endpoint = await anEndpoint()
    const first = await activate(endpoint)
    assert.equal(await resolveOpen(endpoint, { reason: 'cooler' }), first.alertId)
    assert.equal(await resolveOpen(endpoint), undefined)
    const resolved = await get(first.alertId)
    assert.deepEqual([resolved.state, resolved.resolveReason], ['RESOLVED', 'cooler'])
    assert.ok(resolved.resolvedAt >= resolved.startedAt)
    const second = await activate(endpoint)
    assert.notEqual(second.alertId, first.alertId)
    assert.deepEqual(await typesOf(first.alertId), ['ACTIVATED', 'RESOLVED'])
  })

  test('an alert that is resolved while a batch is prepared opens again with the metadata of its endpoint', async () => {
    const [flapping, another] = [await anEndpoint({ room: 'north' }), await anEndpoint({ room: 'south' })]
    await activate(flapping)
    const register = waypost.ask(Register)
    const change = createAlertChanges({
      kit: waypost.kit,
      register: {
        async metadataOf(endpointId) {
          await resolveOpen(flapping)
          return await register.metadataOf(endpointId)
        },
      },
    })
    const activation = (endpoint: AlertEndpoint) => ({
      tenantId: 'default',
      entityType: 'ENDPOINT' as const,
      entityId: endpoint.endpointId,
      applicationName: endpoint.applicationName,
      alertType: 'HIGH_TEMPERATURE',
      severityLevel: 'LOW' as const,
      cause: 'trace/2',
    })
    // The first change is a batch of its own. The next batch has the other two.
    const first = change({ activation: { ...activation(flapping), entityType: 'TENANT', entityId: 'default' } })
    const [, ...changed] = await Promise.all([
      first,
      ...[flapping, another].map((one) => change({ activation: activation(one) })),
    ])
    assert.deepEqual(await Promise.all(changed.map(async (one) => (await get(one!.alertId)).entityMetadata)), [
      { room: 'north' },
      { room: 'south' },
    ])
    assert.deepEqual(
      changed.map((one) => one!.change),
      ['ACTIVATED', 'ACTIVATED'],
    )
  })

  test('many concurrent activations and resolutions leave at most one open alert', async () => {
    const endpoint = await anEndpoint()
    const changes = Array.from({ length: 60 }, (_, n) => (n % 3 === 2 ? resolveOpen(endpoint) : activate(endpoint)))
    await Promise.all([...changes, activate(endpoint)])
    const { content, totalElements } = await list(`entityIds=${endpoint.endpointId}&size=100`)
    assert.equal(content.filter(({ state }: { state: string }) => state === 'OPEN').length, 1)
    assert.equal(totalElements, 21)
  })

  test('an activation publishes an event with the alert and the chain of the rule', async () => {
    const endpoint = await anEndpoint()
    const { alertId } = await activate(endpoint, { cause: 'trace-1/3' })
    await eventually(() => {
      const event = published.find(({ alert }) => alert.id === alertId)
      assert.ok(event)
      assert.deepEqual(
        [event.eventType, event.cause, event.endpointId, event.applicationName, event.alert.state],
        ['ACTIVATED', 'trace-1/3', endpoint.endpointId, endpoint.applicationName, 'OPEN'],
      )
    })
  })
})

suite('a caller', () => {
  test('a caller acknowledges an alert, withdraws the acknowledgement and resolves the alert; each change is an event that names the caller', async () => {
    const { alertId } = await activate(await anEndpoint())
    const put = (path: string, body: unknown) => admin(`PUT ${root}/alerts/${alertId}${path}`, body)
    const acknowledged = { acknowledgement: 'ACKNOWLEDGED', comment: 'seen' }
    for (const body of [acknowledged, acknowledged, { acknowledgement: 'UNACKNOWLEDGED' }])
      assert.equal((await put('/acknowledgement', body)).status, 204)
    assert.equal((await put('/resolve', { reason: 'done' })).status, 204)
    // Requests that would change a resolved alert are answered with 204, but change nothing.
    assert.equal((await put('/resolve', { reason: 'again' })).status, 204)
    assert.equal((await put('/resolve', undefined)).status, 204)
    assert.equal((await put('/acknowledgement', acknowledged)).status, 204)
    const alert = await get(alertId)
    assert.deepEqual([alert.state, alert.acknowledgement, alert.resolveReason], ['RESOLVED', 'UNACKNOWLEDGED', 'done'])
    const events = await eventsOf(alertId)
    assert.deepEqual(
      events.map(({ eventType, payload }) => [eventType, payload.comment]),
      [
        ['ACTIVATED', undefined],
        ['ACKNOWLEDGED', 'seen'],
        ['UPDATED', undefined],
        ['RESOLVED', undefined],
      ],
    )
    assert.ok(events.slice(1).every(({ userId }) => userId !== undefined))
    const only = (await admin(`GET ${root}/alerts/${alertId}/lifecycle-events?eventType=RESOLVED&size=1`)).body
    assert.deepEqual([only.totalElements, only.content[0].payload.resolveReason], [1, 'done'])
  })

  test('a caller may name the entity of an alert, and gets 404 if the entity is wrong', async () => {
    const endpoint = await anEndpoint()
    const { alertId } = await activate(endpoint)
    const path = `${root}/alerts/${alertId}`
    const body = { acknowledgement: 'ACKNOWLEDGED' }
    for (const query of ['entityId=x', 'entityType=tenant', `entityId=${endpoint.endpointId}&entityType=TENANT`]) {
      assert.equal((await admin(`PUT ${path}/acknowledgement?${query}`, body)).status, 404, query)
      assert.equal((await admin(`GET ${path}?${query}`)).status, 404, query)
      assert.equal((await admin(`GET ${path}/lifecycle-events?${query}`)).status, 404, query)
      assert.equal((await admin(`DELETE ${path}?${query}`)).status, 404, query)
    }
    assert.equal((await admin(`PUT ${path}/resolve`, { entityId: 'x' })).status, 404)
    const right = `entityId=${endpoint.endpointId}&entityType=endpoint`
    assert.equal((await admin(`GET ${path}?${right}`)).status, 200)
    assert.equal((await admin(`PUT ${path}/acknowledgement?${right}`, body)).status, 204)
    assert.equal((await admin(`DELETE ${path}?${right}`)).status, 204)
    assert.equal((await admin(`GET ${path}`)).status, 404)
  })

  test('a caller gets 400 with the name of a wrong field', async () => {
    const { alertId } = await activate(await anEndpoint())
    for (const [operation, body, field] of [
      ['GET /alerts?state=OPENED', undefined, 'state'],
      ['GET /alerts?entityType=asset', undefined, 'entityType'],
      ['GET /alerts?severityLevel=HIGH,WORST', undefined, 'severityLevel'],
      ['GET /alerts?acknowledgement=YES', undefined, 'acknowledgement'],
      ['GET /alerts?sort=id', undefined, 'sort'],
      ['GET /alerts?size=0', undefined, 'size'],
      ['GET /alerts?size=10001', undefined, 'size'],
      ['GET /alerts?fromStartedAt=yesterday', undefined, 'fromStartedAt'],
      ['GET /alerts?toStartedAt=2026-02-30', undefined, 'toStartedAt'],
      ['POST /alerts/search', { fromStartedAt: 1.5 }, 'fromStartedAt'],
      ['GET /alerts?metadataValue=1', undefined, 'metadataPath'],
      ['GET /alerts?metadataPath=a..b', undefined, 'metadataPath'],
      ['GET /alerts?alertSettingId=1', undefined, 'alertSettingId'],
      [`GET /alerts?alertSettingId=${'-'.repeat(36)}`, undefined, 'alertSettingId'],
      ['GET /alerts?toStartedAt=2026-02-30', undefined, 'toStartedAt'],
      ['GET /alerts/types?entityType=x', undefined, 'entityType'],
      ['GET /alerts/metadata-keys?metadataKeysType=x', undefined, 'metadataKeysType'],
      ['POST /alerts/search', { state: ['X'] }, 'state'],
      ['POST /alerts/search', { size: '5' }, 'size'],
      ['POST /alerts/delete', { alertIds: [] }, 'alertIds'],
      ['POST /alerts/delete', {}, 'alertIds'],
      [`PUT /alerts/${alertId}/acknowledgement`, { acknowledgement: 'X' }, 'acknowledgement'],
      [`PUT /alerts/${alertId}/resolve`, { reason: 5 }, 'reason'],
      [`GET /alerts/${alertId}/lifecycle-events?eventType=X`, undefined, 'eventType'],
    ] as const) {
      const answer = await admin(operation.replace(' /', ` ${root}/`), body)
      assert.equal(answer.status, 400, `${operation}: ${answer.text}`)
      assert.ok(answer.body.message.includes(field), answer.text)
    }
  })

  test('a caller deletes several alerts, and the response names alerts that were not deleted', async () => {
    const endpoint = await anEndpoint()
    const ids = await Promise.all(
      ['A', 'B'].map(async (alertType) => (await activate(endpoint, { alertType })).alertId),
    )
    const unknown = newId()
    const { body } = await admin(`POST ${root}/alerts/delete`, { alertIds: [...ids, ids[0], unknown, 'no-id'] })
    assert.deepEqual([body.deletedCount, body.failedCount, body.deleted.sort()], [2, 2, ids.toSorted()])
    assert.deepEqual(
      body.failed.map(({ alertId }: { alertId: string }) => alertId),
      [unknown, 'no-id'],
    )
    assert.equal((await list(`entityIds=${endpoint.endpointId}`)).totalElements, 0)
  })
})

suite('lists', () => {
  test('lists filter, sort and page', async () => {
    const [one, two] = [await anEndpoint({ room: 'n', floor: 2 }), await anEndpoint({ room: 's' })]
    const a = await activate(one, { alertType: 'A', severityLevel: 'INFO', metadata: { v: 5, deep: { k: 'x' } } })
    const b = await activate(one, { alertType: 'B', severityLevel: 'CRITICAL', metadata: { v: '5' } })
    const c = await activate(two, { alertType: 'A', severityLevel: 'HIGH', metadata: { v: [1, 2], list: ['q'] } })
    await activate(one, { alertType: 'A', severityLevel: 'INFO' })
    await admin(`PUT ${root}/alerts/${b.alertId}/acknowledgement`, { acknowledgement: 'ACKNOWLEDGED' })
    await resolveOpen(two, { alertType: 'A' })
    const names = new Map([
      [a.alertId, 'a'],
      [b.alertId, 'b'],
      [c.alertId, 'c'],
    ])
    const both = `entityIds=${one.endpointId},${two.endpointId}`
    const startedAtB = (await get(b.alertId)).startedAt
    for (const [query, expected] of [
      ['', 'cba'],
      ['sortOrder=asc', 'abc'],
      ['sort=lastActiveAt', 'acb'],
      ['sort=severityLevel', 'bca'],
      ['sort=severityLevel&sortOrder=asc&size=2', 'ac'],
      ['sort=severityLevel&sortOrder=asc&size=2&page=1', 'b'],
      ['alertType=A', 'ca'],
      ['alertType=A&state=OPEN', 'a'],
      ['state=RESOLVED', 'c'],
      ['state=OPEN,RESOLVED', 'cba'],
      ['acknowledgement=ACKNOWLEDGED', 'b'],
      ['severityLevel=CRITICAL,INFO', 'ba'],
      ['entityType=endpoint', 'cba'],
      ['entityType=TENANT', ''],
      ['metadataPath=v&metadataValue=5', 'ba'],
      ['metadataPath=deep.k&metadataValue=x', 'a'],
      ['metadataPath=list.0&metadataValue=q', 'c'],
      ['metadataPath=deep', 'a'],
      ['metadataPath=v&metadataValue=[1, 2]', 'c'],
      ['entityMetadataPath=floor&entityMetadataValue=2', 'ba'],
      ['entityMetadataPath=room&entityMetadataValue=s', 'c'],
      [`fromStartedAt=${startedAtB}`, 'cb'],
      [`toStartedAt=${startedAtB}`, 'ba'],
      [`fromStartedAt=${Date.parse(startedAtB)}`, 'cb'],
      ['fromStartedAt=now-1h&toStartedAt=now', 'cba'],
      ['toStartedAt=now-1h', ''],
      ['toStartedAt=2026-01-01', ''],
      [`alertSettingId=${newId()}`, ''],
    ] as const) {
      const { content, totalElements } = await list(`${both}&${query.replaceAll(' ', '%20')}`)
      assert.equal(content.map(({ id }: { id: string }) => names.get(id)).join(''), expected, query)
      if (!query.includes('size')) assert.equal(totalElements, expected.length, query)
    }
    const { body } = await admin(`POST ${root}/alerts/search`, {
      entityIds: [one.endpointId],
      fromStartedAt: Date.parse(startedAtB),
      severityLevel: ['CRITICAL'],
      state: 'OPEN',
    })
    assert.deepEqual([body.totalElements, body.content[0].id], [1, b.alertId])
    const everything = (await list('')).totalElements
    assert.equal((await admin(`POST ${root}/alerts/search`)).body.totalElements, everything)
  })

  test('types and metadata keys of alerts are listed', async () => {
    const endpoint = await anEndpoint({ keyOfEntity: 1 })
    await activate(endpoint, { alertType: 'TYPE_1', metadata: { keyOfAlert: { inner: 1 } } })
    await activate(endpoint, { alertType: 'TYPE_2' })
    const types = (await admin(`GET ${root}/alerts/types`)).body as string[]
    assert.ok(types.includes('TYPE_1') && types.includes('TYPE_2'))
    assert.deepEqual(types, [...new Set(types)].sort())
    assert.ok(!(await admin(`GET ${root}/alerts/types?entityType=TENANT`)).body.includes('TYPE_1'))
    const keys = async (type: string) => (await admin(`GET ${root}/alerts/metadata-keys?metadataKeysType=${type}`)).body
    assert.ok((await keys('ALERT')).includes('keyOfAlert') && !(await keys('ALERT')).includes('keyOfEntity'))
    assert.ok((await keys('ENTITY')).includes('keyOfEntity'))
  })
})

suite('permissions', () => {
  test('an alert of an endpoint needs a permission on the endpoint or its application; an alert of the tenant needs a permission on the tenant', async () => {
    const [mine, theirs] = [await anEndpoint(), await anEndpoint()]
    const own = await activate(mine, { alertType: 'MINE', metadata: { mine: 1 } })
    const foreign = await activate(theirs, { alertType: 'THEIRS', metadata: { theirs: 1 } })
    const ofTenant = await activate(undefined, { alertType: 'OF_TENANT' })
    const grants = [`endpoint-${mine.endpointId}`, `application-${mine.applicationName}`]
    for (const resource of grants) {
      const reader = waypost.as(aCaller({ on: { [resource]: ['alert:read'] } }))
      const { content, totalElements } = (await reader(`GET ${root}/alerts`)).body
      assert.deepEqual([totalElements, content[0].id], [1, own.alertId])
      assert.deepEqual((await reader(`GET ${root}/alerts/types`)).body, ['MINE'])
      assert.deepEqual((await reader(`GET ${root}/alerts/metadata-keys`)).body, ['mine'])
      assert.equal((await reader(`GET ${root}/alerts/${own.alertId}`)).status, 200)
      for (const { alertId } of [foreign, ofTenant])
        assert.equal((await reader(`GET ${root}/alerts/${alertId}`)).status, 404)
      const acknowledged = { acknowledgement: 'ACKNOWLEDGED' }
      assert.equal((await reader(`PUT ${root}/alerts/${own.alertId}/acknowledgement`, acknowledged)).status, 403)
      assert.equal((await reader(`PUT ${root}/alerts/${foreign.alertId}/acknowledgement`, acknowledged)).status, 404)
      const { body } = await reader(`POST ${root}/alerts/delete`, { alertIds: [own.alertId, foreign.alertId] })
      assert.deepEqual([body.deletedCount, body.failedCount], [0, 2])
    }
    assert.equal((await admin(`GET ${root}/alerts/${ofTenant.alertId}`)).body.entityType, 'TENANT')
  })

  test('another tenant sees no alerts', async () => {
    const { alertId } = await activate(await anEndpoint())
    assert.deepEqual((await other(`GET ${root}/alerts`)).body, { totalElements: 0, content: [] })
    assert.deepEqual((await other(`GET ${root}/alerts/types`)).body, [])
    for (const operation of [`GET ${root}/alerts/${alertId}`, `GET ${root}/alerts/${alertId}/lifecycle-events`])
      assert.equal((await other(operation)).status, 404)
    const missing = await other(`DELETE ${root}/alerts/${newId()}`)
    const foreign = await other(`DELETE ${root}/alerts/${alertId}`)
    assert.equal(foreign.status, 404)
    assert.equal(foreign.text.replace(alertId, ''), missing.text.replace(/[0-9a-f-]{36}/, ''))
    assert.equal((await get(alertId)).state, 'OPEN')
  })
})

suite('deletion of alerts', () => {
  test('alerts are deleted with their endpoint, even if a node whose clock is ahead stored them', async () => {
    const [gone, kept] = [await anEndpoint(), await anEndpoint()]
    const { alertId } = await activate(gone)
    await sql`update rules.alerts set started_at = started_at + interval '1 hour' where id = ${alertId}::uuid`
    const stays = await activate(kept)
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${gone.endpointId}`)).status, 204)
    await eventually(async () => assert.equal((await list(`entityIds=${gone.endpointId}`)).totalElements, 0))
    assert.equal((await get(stays.alertId)).state, 'OPEN')
  })

  test('resolved alerts are deleted after the number of days in the setting', async () => {
    const endpoint = await anEndpoint()
    const [old, recent] = [
      await activate(endpoint, { alertType: 'OLD' }),
      await activate(endpoint, { alertType: 'NEW' }),
    ]
    const open = await activate(endpoint, { alertType: 'STILL_OPEN' })
    for (const alertType of ['OLD', 'NEW']) await resolveOpen(endpoint, { alertType })
    await sql`update rules.alerts set resolved_at = resolved_at - interval '91 days' where id = ${old.alertId}::uuid`
    await sql`update rules.alerts set started_at = started_at - interval '91 days' where id = ${open.alertId}::uuid`
    const silent = { handle() {} } as never
    const [task] = createAlertDeletions(
      { ...waypost.kit, bus: silent, jobs: silent, settings: { alertDays: 90 } as never },
      silent,
    )
    await waypost.kit.db.tx((transaction) => task!.run(transaction))
    const statuses = await Promise.all(
      [old, recent, open].map(async ({ alertId }) => (await admin(`GET ${root}/alerts/${alertId}`)).status),
    )
    assert.deepEqual(statuses, [404, 200, 200])
  })
})
