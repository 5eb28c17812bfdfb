import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openStreams } from '../../../test/harness/live-streams.ts'
import binaryData from '../binary-data/index.ts'
import jobs from '../bulk-jobs/index.ts'
import commands from '../commands/index.ts'
import configuration from '../configuration/index.ts'
import { Register } from '../register/contract.ts'
import { createAlertChanges } from '../rules/alerts/service/changes.ts'
import rules from '../rules/index.ts'
import tenants from '../tenants/index.ts'

const live = await openStreams({ more: [tenants, binaryData, commands, configuration, rules, jobs] })
const { waypost, stream, admin, other, aReplaceableCaller } = live
const change = createAlertChanges({ kit: waypost.kit, register: waypost.ask(Register) })

suite('alerts', () => {
  const activate = (
    endpoint: { app: string; endpointId: string } | undefined,
    severityLevel: 'LOW' | 'HIGH' = 'HIGH',
    message = 'hot',
  ) =>
    change({
      activation: {
        tenantId: 'default',
        alertType: 'TOO_HOT',
        severityLevel,
        message,
        cause: 'test',
        ...(endpoint
          ? { entityType: 'ENDPOINT', entityId: endpoint.endpointId, applicationName: endpoint.app }
          : { entityType: 'TENANT', entityId: 'default' }),
      },
    })
  const resolve = (endpointId: string) =>
    change({
      resolution: {
        tenantId: 'default',
        entityType: 'ENDPOINT',
        entityId: endpointId,
        alertType: 'TOO_HOT',
        cause: 'test',
      },
    })
  const types = (items: Record<string, unknown>[]) => items.map(({ eventType }) => eventType)

  test('a stream gets changes of alerts that match its severity, its application and the permissions of the caller', async () => {
    const [first, second] = [await live.aProvisionedEndpoint(), await live.aProvisionedEndpoint()]
    const reader = aCaller({ on: { [`endpoint-${first.endpointId}`]: ['alert:read'] } })
    const source = await stream([
      { id: 'all', topic: 'alerts' },
      { id: 'high', topic: 'alerts', severities: ['HIGH'], applicationName: first.app },
      { id: 'none', topic: 'alerts', alertTypes: ['COLD'] },
    ])
    const limited = await stream([{ id: 'all', topic: 'alerts' }], aReplaceableCaller(reader).headers)
    const otherTenant = await stream(
      [{ id: 'all', topic: 'alerts' }],
      aReplaceableCaller(aTenantAdmin('other')).headers,
    )
    const forbidden = await stream([{ id: 'all', topic: 'alerts' }], aReplaceableCaller(aCaller()).headers)
    await source.active('all', 'high', 'none')
    await limited.active('all')
    await otherTenant.active('all')
    assert.equal((await forbidden.ended('all')).status, 403)
    const opened = await activate(first)
    await activate(first, 'LOW')
    await activate(second)
    await activate(undefined)
    const path = `/re/api/v1/alerts/${opened!.alertId}`
    assert.equal((await admin(`PUT ${path}/acknowledgement`, { acknowledgement: 'ACKNOWLEDGED' })).status, 204)
    await resolve(first.endpointId)
    await eventually(() => assert.equal(source.items('all').length, 6))
    assert.deepEqual(
      types(source.items('all').filter(({ alert }) => (alert as { entityId: string }).entityId === first.endpointId)),
      ['ACTIVATED', 'UPDATED', 'ACKNOWLEDGED', 'RESOLVED'],
    )
    assert.deepEqual(source.items('all').at(-1)!.alert, (await admin(`GET ${path}`)).body)
    assert.deepEqual(types(source.items('high')), ['ACTIVATED'])
    assert.deepEqual(source.items('none'), [])
    await eventually(() => assert.equal(limited.items('all').length, 4))
    assert.deepEqual(otherTenant.items('all'), [])
    for (const one of [source, limited, otherTenant, forbidden]) one.close()
  })

  test('a stream that resumes gets the changes since its last position', async () => {
    const endpoint = await live.aProvisionedEndpoint()
    const subscriptions = [{ id: 'all', topic: 'alerts', endpointIds: [endpoint.endpointId] }]
    const first = await stream(subscriptions)
    await first.active('all')
    const id = await eventually(() => first.lastId() ?? assert.fail('no position'))
    first.close()
    await activate(endpoint)
    await resolve(endpoint.endpointId)
    const second = await stream(subscriptions, { 'last-event-id': id })
    await eventually(() => assert.deepEqual(types(second.items('all')).toSorted(), ['ACTIVATED', 'RESOLVED']))
    assert.deepEqual(second.gaps(), [])
    second.close()
  })
})

suite('jobs', () => {
  const create = async (app: string, body: object = {}, ask = admin) => {
    const select = { select: { applicationName: app }, merge: { city: 'Kyiv' }, ...body }
    const answer = await ask('POST /jobs/api/v1/jobs/metadata-patches', select)
    assert.equal(answer.status, 201, answer.text)
    return answer.body.jobId as string
  }
  const states = (items: Record<string, unknown>[], jobId: string) =>
    items.filter((item) => item.jobId === jobId).map(({ state }) => state)

  test('a stream begins with the open jobs that the caller may read, and then gets the progress of jobs', async () => {
    const [{ app }, foreign] = [await live.aProvisionedEndpoint(), await live.aProvisionedEndpoint(other)]
    const prepared = await create(app, { preview: true })
    const creator = aCaller({ id: 'ada', on: { [`application-${app}`]: ['endpoint:read', 'endpoint:update'] } })
    const source = await stream([{ id: 'all', topic: 'jobs' }])
    const ownStream = await stream([{ id: 'all', topic: 'jobs' }], aReplaceableCaller(creator).headers)
    const otherTenant = await stream([{ id: 'all', topic: 'jobs' }], aReplaceableCaller(aTenantAdmin('other')).headers)
    await source.active('all')
    await ownStream.active('all')
    await otherTenant.active('all')
    await eventually(() => assert.ok(states(source.items('all'), prepared).includes('prepared')))
    const mine = await create(app, {}, waypost.as(creator))
    const theirs = await create(foreign.app, {}, other)
    await eventually(() => assert.equal(states(source.items('all'), mine).at(-1), 'finished'))
    await eventually(() => assert.equal(states(ownStream.items('all'), mine).at(-1), 'finished'))
    await eventually(() => assert.equal(states(otherTenant.items('all'), theirs).at(-1), 'finished'))
    const { body } = await admin(`GET /jobs/api/v1/jobs/${mine}`)
    const { parameters: _, ...shown } = body
    assert.deepEqual(
      source.items('all').findLast(({ jobId }) => jobId === mine),
      shown,
    )
    assert.deepEqual(states(source.items('all'), theirs), [])
    assert.deepEqual(states(ownStream.items('all'), prepared), [])
    assert.deepEqual(states(otherTenant.items('all'), mine), [])
    const one = await stream([{ id: 'one', topic: 'jobs', jobIds: [prepared] }])
    await eventually(() => assert.deepEqual([...new Set(one.items('one').map(({ jobId }) => jobId))], [prepared]))
    for (const each of [source, ownStream, otherTenant, one]) each.close()
  })

  test('a stream that resumes gets jobs that ended while it was interrupted', async () => {
    const { app } = await live.aProvisionedEndpoint()
    const subscriptions = [{ id: 'all', topic: 'jobs', applicationName: app }]
    const first = await stream(subscriptions)
    await first.active('all')
    const id = await eventually(() => first.lastId() ?? assert.fail('no position'))
    first.close()
    const jobId = await create(app)
    await eventually(async () => assert.ok((await admin(`GET /jobs/api/v1/jobs/${jobId}`)).body.finishedDate))
    const second = await stream(subscriptions, { 'last-event-id': id })
    await eventually(() => assert.deepEqual(states(second.items('all'), jobId).at(-1), 'finished'))
    second.close()
  })
})

suite('counts', () => {
  test('a stream gets the numbers of endpoints that the caller may read, and gets them again when they change', async () => {
    const { app, version, endpointId } = await live.aProvisionedEndpoint()
    const reader = aCaller({ id: 'eve', on: { [`endpoint-${endpointId}`]: ['endpoint:read'] } })
    const { headers, replaceWith } = aReplaceableCaller(reader)
    const subscriptions = [{ id: 'all', topic: 'counts', applicationName: app, by: ['version'] }]
    const [source, limited] = [await stream(subscriptions), await stream(subscriptions, headers)]
    const totals = (stream: typeof source) => stream.items('all').map(({ total }) => total)
    await eventually(() => assert.deepEqual(totals(source), [1]))
    assert.deepEqual(source.items('all')[0]!.counts, [
      { by: 'version', values: [{ value: version, count: 1 }], others: 0, missing: 0 },
    ])
    await live.anEndpoint(version)
    await eventually(() => assert.deepEqual(totals(source), [1, 2]), { withinMs: 20_000 })
    assert.deepEqual(totals(limited), [1])
    const late = await stream(subscriptions)
    await eventually(() => assert.deepEqual(totals(late), [2]), { withinMs: 20_000 })
    replaceWith(aCaller({ id: 'eve', on: { [`application-${app}`]: ['endpoint:read'] } }))
    await eventually(() => assert.deepEqual(totals(limited), [1, 2]))
    replaceWith(aCaller({ id: 'eve' }))
    assert.equal((await limited.ended('all')).status, 404)
    const wrong = await stream([{ id: 'wrong', topic: 'counts', by: ['a', 'b', 'c', 'd', 'x'.repeat(300)] }])
    assert.equal((await wrong.ended('wrong')).status, 400)
    for (const one of [source, limited, late, wrong]) one.close()
  })
})
