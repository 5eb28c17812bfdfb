import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { aDefinition, everyWidget } from '../../../test/harness/dashboards.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { type Ask, openTestPlatform, type TestPlatform } from '../../../test/harness/test-platform.ts'
import identity from '../../identity/index.ts'
import applications from '../applications/index.ts'
import { TenantDeleted } from '../tenants/events.ts'
import tenants from '../tenants/index.ts'
import dashboards from './index.ts'
import { dashboardsMax, versionsMax } from './limits.ts'

const root = '/dashboards/api/v1'

describe('dashboards', () => {
  let waypost: TestPlatform
  let admin: Ask
  let stranger: Ask
  before(async () => {
    waypost = await openTestPlatform({ services: [identity, tenants, applications, dashboards] })
    const tenantsToMake = ['acme', 'other', 'full']
    for (const tenantId of tenantsToMake)
      await waypost.kit.db.sql`
        insert into identity.realms (tenant_id, status, frontend_client_id, backend_client_id, cookie_key_sealed)
        values (${tenantId}, 'AVAILABLE', 'f', 'b', '')`
    admin = waypost.as(aTenantAdmin('acme'))
    stranger = waypost.as(aTenantAdmin('other'))
  })
  const input = { name: 'Greenhouse', description: 'All of it', definition: aDefinition }
  async function make(changes: object = {}, ask = admin) {
    const answer = await ask(`POST ${root}/dashboards`, { ...input, ...changes })
    assert.equal(answer.status, 201, answer.text)
    return { ...answer.body, etag: answer.headers.etag as string, location: answer.headers.location }
  }
  const pathOf = ({ dashboardId }: { dashboardId: string }) => `${root}/dashboards/${dashboardId}`

  test('a dashboard that an API key creates names the key, not the owner of the key', async () => {
    const caller = aTenantAdmin('acme')
    const asKey = waypost.as({
      ...caller,
      subject: { type: 'api-key', id: 'key-1' },
      username: 'ada',
      keyName: 'deployment',
    })
    const created = await make({ name: 'By a key' }, asKey)
    assert.deepEqual(created.owner, { type: 'api-key', id: 'key-1', name: 'deployment' })
    const versions = await admin(`GET ${pathOf(created)}/versions`)
    assert.equal(versions.body.content[0].author.name, 'deployment')
    assert.equal((await admin(`DELETE ${pathOf(created)}`)).status, 204)
  })

  test('dashboards are created, read, listed, changed and deleted', async () => {
    const ada = waypost.as({ ...aTenantAdmin('acme'), username: 'ada' })
    const created = await make({}, ada)
    assert.deepEqual([created.name, created.version, created.owner.name], ['Greenhouse', 1, 'ada'])
    assert.equal(created.location, `http://waypost.test${pathOf(created)}`)
    const got = await admin(`GET ${pathOf(created)}`)
    assert.deepEqual([got.body.definition, got.body.description], [aDefinition, 'All of it'])
    assert.equal(got.headers.etag, created.etag)
    assert.equal((await admin(`GET ${pathOf(created)}`, undefined, { 'if-none-match': created.etag })).status, 304)
    const listed = await admin(`GET ${root}/dashboards?search=green`)
    assert.equal(listed.body.totalElements, 1)
    assert.equal(listed.body.content[0].definition, undefined)
    const changed = await admin(
      `PUT ${pathOf(created)}`,
      { name: 'B', definition: { widgets: [] } },
      { 'if-match': created.etag },
    )
    assert.deepEqual([changed.status, changed.body.version, changed.body.description], [200, 2, undefined])
    assert.equal(changed.body.owner.name, 'ada')
    const stale = await admin(`PUT ${pathOf(created)}`, input, { 'if-match': created.etag })
    assert.equal(stale.status, 412)
    assert.equal((await admin(`DELETE ${pathOf(created)}`, undefined, { 'if-match': created.etag })).status, 412)
    assert.equal(
      (await admin(`DELETE ${pathOf(created)}`, undefined, { 'if-match': changed.headers.etag! })).status,
      204,
    )
    assert.equal((await admin(`GET ${pathOf(created)}`)).status, 404)
  })

  test('a dashboard keeps its former versions, and a former version can be restored as a new version', async () => {
    const created = await make({ name: 'first' })
    for (const name of ['second', 'third'])
      assert.equal((await admin(`PUT ${pathOf(created)}`, { name, definition: { widgets: [] } })).status, 200)
    const versions = (await admin(`GET ${pathOf(created)}/versions`)).body.content
    assert.deepEqual(
      versions.map((one: { version: number; name: string }) => [one.version, one.name]),
      [
        [3, 'third'],
        [2, 'second'],
        [1, 'first'],
      ],
    )
    assert.deepEqual((await admin(`GET ${pathOf(created)}/versions/1`)).body.definition, aDefinition)
    assert.equal((await admin(`GET ${pathOf(created)}/versions/9`)).status, 404)
    const stale = await admin(`POST ${pathOf(created)}/versions/1/restore`, undefined, { 'if-match': created.etag })
    assert.equal(stale.status, 412)
    const restored = await admin(`POST ${pathOf(created)}/versions/1/restore`)
    assert.deepEqual([restored.status, restored.body.name, restored.body.version], [200, 'first', 4])
    assert.deepEqual((await admin(`GET ${pathOf(created)}`)).body.definition, aDefinition)
    assert.equal((await admin(`POST ${pathOf(created)}/versions/99/restore`)).status, 404)
    for (let n = 0; n < versionsMax; n++) await admin(`POST ${pathOf(created)}/versions/4/restore`)
    const kept = (await admin(`GET ${pathOf(created)}/versions`)).body.content
    assert.deepEqual([kept.length, kept[0].version], [versionsMax, 4 + versionsMax])
  })

  test('when several requests write a dashboard with the same ETag, one request succeeds', async () => {
    const created = await make()
    const put = (name: string) => admin(`PUT ${pathOf(created)}`, { ...input, name }, { 'if-match': created.etag })
    const statuses = (await Promise.all(['a', 'b', 'c'].map(put))).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 412, 412])
  })

  test('when a change, a restore and a deletion have the same ETag, one request succeeds and the other requests change nothing', async () => {
    const created = await make({ name: 'contested' })
    const condition = { 'if-match': created.etag }
    const answers = await Promise.all([
      admin(`PUT ${pathOf(created)}`, { ...input, name: 'written' }, condition),
      admin(`POST ${pathOf(created)}/versions/1/restore`, undefined, condition),
      admin(`DELETE ${pathOf(created)}`, undefined, condition),
    ])
    const statuses = answers.map(({ status }) => status)
    assert.equal(statuses.filter((status) => status < 300).length, 1, String(statuses))
    assert.ok(
      statuses.every((status) => [200, 204, 404, 412].includes(status)),
      String(statuses),
    )
    const [written, restored, deleted] = statuses
    const after = await admin(`GET ${pathOf(created)}`)
    assert.equal(after.status, deleted === 204 ? 404 : 200)
    if (deleted !== 204)
      assert.deepEqual([after.body.version, after.body.name], [2, written === 200 ? 'written' : 'contested'])
    assert.ok(deleted === 204 || written === 200 || restored === 200)
  })

  test('a change of a deleted dashboard gets 404 and does not create the dashboard again', async () => {
    const created = await make({ name: 'deleted' })
    assert.equal((await admin(`DELETE ${pathOf(created)}`)).status, 204)
    for (const headers of [{}, { 'if-match': created.etag }])
      assert.equal((await admin(`PUT ${pathOf(created)}`, input, headers)).status, 404)
    assert.equal((await admin(`POST ${pathOf(created)}/versions/1/restore`)).status, 404)
    assert.equal((await admin(`GET ${root}/dashboards?search=deleted`)).body.totalElements, 0)
  })

  test('a change with bad contents is rejected, and changes neither the dashboard nor its versions', async () => {
    const created = await make({ name: 'kept' })
    const [chart, value] = everyWidget as unknown as Record<string, unknown>[]
    const bodies: [body: unknown, field: RegExp][] = [
      [{}, /name|definition/],
      [{ name: 'x' }, /definition/],
      [{ ...input, name: 'a\u0000b' }, /name/],
      [{ ...input, description: 'd'.repeat(5001) }, /description/],
      [{ ...input, definition: null }, /definition/],
      [{ ...input, definition: { ...aDefinition, widgets: [{ ...chart, y: -1 }] } }, /y/],
      [
        { ...input, definition: { ...aDefinition, widgets: [{ ...value, thresholds: [{ from: 'x' }] }] } },
        /thresholds/,
      ],
      [
        { ...input, definition: { ...aDefinition, widgets: [{ ...chart, series: [{ timeSeries: '' }] }] } },
        /timeSeries/,
      ],
      [JSON.parse('{"name": "x", "definition": {"widgets": [], "__proto__": {"x": 1}}}'), /__proto__|definition/],
    ]
    for (const [body, field] of bodies) {
      const answer = await admin(`PUT ${pathOf(created)}`, body)
      assert.equal(answer.status, 400, `${JSON.stringify(body).slice(0, 200)}: ${answer.text}`)
      assert.match(answer.body.message, field)
    }
    for (const query of ['limit=-1', 'limit=x', 'offset=-1', 'offset=1.5'])
      assert.equal((await admin(`GET ${root}/dashboards?${query}`)).status, 400, query)
    for (const path of ['0', '-1', 'x', '1.5'])
      assert.equal((await admin(`POST ${pathOf(created)}/versions/${path}/restore`)).status, 400, path)
    const after = await admin(`GET ${pathOf(created)}`)
    assert.deepEqual([after.body.name, after.body.version, after.headers.etag], ['kept', 1, created.etag])
    assert.equal((await admin(`GET ${pathOf(created)}/versions`)).body.content.length, 1)
  })

  test('a tenant with the maximum number of dashboards cannot create further dashboards, and another tenant can', async () => {
    const full = waypost.as(aTenantAdmin('full'))
    const fill = (tenantId: string) => waypost.kit.db.sql`
      insert into dashboards.dashboards (dashboard_id, tenant_id, name, definition, owner_type, owner_id, version, created_date, updated_date)
      select ${tenantId} || n, ${tenantId}, 'n', '{}', 'user', 'u', 1, now(), now() from generate_series(1, ${dashboardsMax}::integer) n`
    await fill('full')
    const refused = await full(`POST ${root}/dashboards`, input)
    assert.deepEqual([refused.status, refused.body.message.includes(String(dashboardsMax))], [409, true])
    await make({ name: 'elsewhere' })
    assert.equal((await full(`DELETE ${root}/dashboards/full1`)).status, 204)
    assert.equal((await full(`POST ${root}/dashboards`, input)).status, 201)
  })

  test('a dashboard is visible in its tenant only, to callers with a permission on it', async () => {
    const created = await make({ name: 'hidden' })
    const nobody = waypost.as(aCaller({ tenantId: 'acme' }))
    const operations = [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/versions'],
      ['GET', '/versions/1'],
      ['POST', '/versions/1/restore'],
    ]
    for (const ask of [stranger, nobody])
      for (const [method, path] of operations) {
        const body = method === 'PUT' ? input : undefined
        const hidden = await ask(`${method} ${pathOf(created)}${path}`, body)
        const missing = await ask(`${method} ${root}/dashboards/nothing${path}`, body)
        assert.deepEqual([hidden.status, hidden.text.replace(created.dashboardId, 'nothing')], [404, missing.text])
      }
    for (const ask of [stranger, nobody]) {
      const { body } = await ask(`GET ${root}/dashboards?search=hidden`)
      assert.deepEqual(body, { totalElements: 0, content: [] })
    }
    assert.equal((await nobody(`POST ${root}/dashboards`, input)).status, 403)
    assert.equal((await waypost.as(undefined)(`GET ${root}/dashboards`)).status, 401)
    const on = { [`dashboard-${created.dashboardId}`]: ['dashboard:read'] }
    const reader = waypost.as(aCaller({ tenantId: 'acme', on }))
    assert.equal((await reader(`GET ${root}/dashboards`)).body.totalElements, 1)
    assert.equal((await reader(`GET ${pathOf(created)}`)).status, 200)
    assert.equal((await reader(`PUT ${pathOf(created)}`, input)).status, 403)
    assert.equal((await reader(`DELETE ${pathOf(created)}`)).status, 403)
    assert.equal((await reader(`POST ${pathOf(created)}/versions/1/restore`)).status, 403)
  })

  test('a dashboard grants its creator all scopes, and its grants are deleted with it', async () => {
    const creator = aCaller({ tenantId: 'acme', on: { 'tenant-system': ['tenant:dashboard:create'] } })
    const created = await make({}, waypost.as(creator))
    const grants = () => waypost.kit.db.sql`
      select subject_id, scopes from identity.grants where resource = ${`dashboard-${created.dashboardId}`}`
    assert.deepEqual(
      (await grants()).map(({ subjectId, scopes }) => [subjectId, scopes]),
      [[creator.subject.id, ['*']]],
    )
    assert.equal((await admin(`DELETE ${pathOf(created)}`)).status, 204)
    assert.equal((await grants()).length, 0)
  })

  test('contents that violate the schema are rejected with the name of the field', async () => {
    const [chart, value, table, , , command, text] = everyWidget as unknown as Record<string, unknown>[]
    const widgets = (...list: unknown[]) => ({ ...aDefinition, widgets: list })
    const cases: [definition: unknown, field: RegExp][] = [
      [{}, /widgets/],
      [{ widgets: {} }, /widgets/],
      [widgets({ ...chart, kind: 'pie' }), /widgets/],
      [widgets({ ...chart, series: [] }), /series/],
      [widgets({ ...chart, series: Array.from({ length: 51 }, () => (chart!.series as unknown[])[0]) }), /series/],
      [widgets({ ...chart, colour: 'red' }), /colour/],
      [widgets({ ...value, series: undefined }), /series/],
      [widgets({ ...value, decimals: 11 }), /decimals/],
      [widgets({ ...table, columns: [] }), /columns/],
      [widgets({ ...table, limit: 1e9 }), /limit/],
      [widgets({ ...command, commandType: '' }), /commandType/],
      [widgets({ ...text, text: 'x'.repeat(20_001) }), /text/],
      [widgets({ ...text, x: 24 }), /x/],
      [widgets({ ...text, x: 1.5 }), /x/],
      [widgets({ ...text, x: 20, width: 5 }), /width/],
      [widgets({ ...text, id: 'a b' }), /id/],
      [widgets(text, text), /widgets.*note/],
      [widgets({ ...chart, time: '$nowhere' }), /nowhere/],
      [widgets({ ...chart, series: [{ timeSeries: 't', endpoint: '$nowhere' }] }), /nowhere/],
      [
        {
          ...aDefinition,
          variables: [
            { name: 'a', kind: 'time' },
            { name: 'a', kind: 'time' },
          ],
        },
        /variables.* a/,
      ],
      [{ ...aDefinition, variables: [{ name: 'a b', kind: 'time' }] }, /name/],
      [{ ...aDefinition, variables: [{ name: 'a', kind: 'colour' }] }, /kind/],
      [{ widgets: Array.from({ length: 201 }, (_, n) => ({ ...text, id: `w${n}` })) }, /widgets/],
      [{ widgets: [], other: 1 }, /other/],
    ]
    for (const [definition, field] of cases) {
      const answer = await admin(`POST ${root}/dashboards`, { ...input, definition })
      const shown = JSON.stringify(definition).slice(0, 200)
      assert.equal(answer.status, 400, `${shown}: ${answer.text}`)
      assert.match(answer.body.message, field, shown)
    }
    for (const name of ['', 'x'.repeat(201), 5, null, undefined])
      assert.equal((await admin(`POST ${root}/dashboards`, { ...input, name })).status, 400)
    const large = await admin(`POST ${root}/dashboards`, {
      ...input,
      definition: widgets({ ...command, payload: 'x'.repeat(262_144) }),
    })
    assert.equal(large.status, 413)
    assert.equal((await admin(`GET ${root}/dashboards/x/versions/0`)).status, 400)
    assert.equal((await admin(`GET ${root}/dashboards/x/versions/one`)).status, 400)
  })

  test('a dashboard returns the texts of users unchanged', async () => {
    const name = '<b>&"\u202eabc\u0007'
    const created = await make({ name })
    assert.equal((await admin(`GET ${pathOf(created)}`)).body.name, name)
    assert.deepEqual(created.definition.widgets[6].text, '# Title\n<script>alert(1)</script>')
  })

  describe('dashboards of application versions', () => {
    const path = `${root}/app-versions/shop-v1/template`
    before(async () => {
      assert.equal((await admin('POST /api/v1/applications', { name: 'shop' })).status, 201)
      for (const nameSuffix of ['v1', 'v2'])
        assert.equal((await admin('POST /api/v1/applications/shop/app-versions', { nameSuffix })).status, 201)
    })

    test('templates are set, read, changed and deleted', async () => {
      assert.equal((await admin(`GET ${path}`)).status, 404)
      assert.equal((await admin(`PUT ${path}`, input, { 'if-match': '"x"' })).status, 412)
      const put = await admin(`PUT ${path}`, input)
      assert.equal(put.status, 200, put.text)
      assert.deepEqual([put.body.appVersionName, put.body.applicationName], ['shop-v1', 'shop'])
      const got = await admin(`GET ${path}`)
      assert.deepEqual([got.body.definition, got.headers.etag], [aDefinition, put.headers.etag])
      assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': got.headers.etag! })).status, 304)
      assert.equal((await admin(`PUT ${path}`, { ...input, definition: { widgets: [{}] } })).status, 400)
      const again = await admin(`PUT ${path}`, { ...input, name: 'x' }, { 'if-match': got.headers.etag! })
      assert.equal(again.status, 200)
      assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': got.headers.etag! })).status, 412)
      assert.equal((await admin(`DELETE ${path}`)).status, 204)
      assert.equal((await admin(`DELETE ${path}`)).status, 404)
    })

    test('templates need the permissions on their application', async () => {
      assert.equal((await admin(`PUT ${path}`, input)).status, 200)
      const reader = waypost.as(aCaller({ tenantId: 'acme', on: { 'application-shop': ['application:read'] } }))
      assert.equal((await reader(`GET ${path}`)).status, 200)
      assert.equal((await reader(`PUT ${path}`, input)).status, 403)
      assert.equal((await reader(`DELETE ${path}`)).status, 403)
      for (const ask of [stranger, waypost.as(aCaller({ tenantId: 'acme' }))])
        for (const operation of ['GET', 'PUT', 'DELETE']) {
          const answer = await ask(`${operation} ${path}`, operation === 'PUT' ? input : undefined)
          assert.equal(answer.status, 404, operation)
        }
    })

    test('templates are deleted with their version', async () => {
      const second = path.replace('shop-v1', 'shop-v2')
      assert.equal((await admin(`PUT ${second}`, input)).status, 200)
      assert.equal((await admin('DELETE /api/v1/applications/shop/app-versions/shop-v2')).status, 204)
      assert.equal((await admin(`GET ${second}`)).status, 404)
      await eventually(async () => {
        const rows = await waypost.kit.db.sql`select from dashboards.templates where app_version_name = 'shop-v2'`
        assert.equal(rows.count, 0)
      })
    })
  })

  test('dashboards are deleted with their tenant', async () => {
    const other = await make({}, stranger)
    const { kit } = waypost
    await kit.db.tx((sql) => kit.bus.publish(sql, TenantDeleted, { tenantId: 'other' }))
    await eventually(async () => {
      const rows = await kit.db.sql`select from dashboards.dashboards where dashboard_id = ${other.dashboardId}`
      assert.equal(rows.count, 0)
    })
    assert.ok((await admin(`GET ${root}/dashboards`)).body.totalElements > 0)
  })
})
