/** Tests that an endpoint has the same JSON in a list and when it is read alone. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const { sql } = waypost.kit.db
const { app, version } = await anApplication(admin, ['v1', 'v2'])
const metadata = { city: 'Київ "на горі" \\ 1', big: 1.5, list: [1, { x: null }], text: ',\n"filters":[]' }
for (const endpointId of ['new', 'moved', 'changed', 'seen', 'bare', 'pooled'])
  await anEndpoint(version, { endpointId, ...(endpointId !== 'bare' && { metadata }) })
await admin(`PUT ${root}/endpoints/moved/app-version`, { name: `${app}-v2` })
await admin(`PUT ${root}/endpoints/changed/metadata/level`, 2)
await sql`update register.endpoints set connected = true, connectivity_ts = '2026-01-02 03:04:05.6Z' where endpoint_id = 'seen'`
await sql`update register.endpoints set metadata_updated_date = null where endpoint_id = 'bare'`
await sql`update register.endpoints set pool_ids = array['p "1"', 'p2'], created_date = '2026-01-02 03:04:05Z',
  version_registered_date = '2026-01-02 03:04:05.0429Z' where endpoint_id = 'pooled'`

const inOrder = ['new', 'moved', 'changed', 'seen', 'bare', 'pooled']
const page = async (parameters: Record<string, unknown>) => {
  const answer = await admin(`GET ${root}/endpoints${query({ include: 'metadata', ...parameters })}`)
  assert.equal(answer.status, 200, answer.text)
  return answer
}

suite('an endpoint in a list equals the endpoint that is read alone', () => {
  const kinds: [string, Record<string, unknown>][] = [
    ['of all', {}],
    ['of an application', { applicationName: app }],
    ['of two versions', { applicationVersionName: `${app}-v1,${app}-v2` }],
    ['with a condition', { multiFilter: { or: [{ key: 'absent', operator: 'NOT_IN', values: [1] }] } }],
    ['without a limit', { limit: 0 }],
    ['without a limit, with a condition', { limit: 0, endpointId: inOrder.join() }],
  ]
  for (const [name, parameters] of kinds)
    test(`an endpoint in a list ${name} equals the endpoint that is read alone`, async () => {
      const answer = await page(parameters)
      assert.deepEqual(ids(answer), inOrder)
      for (const endpoint of answer.body.content)
        assert.deepEqual(endpoint, (await admin(`GET ${root}/endpoints/${endpoint.endpointId}?include=metadata`)).body)
    })

  test('an endpoint in a sorted list equals the endpoint that is read alone', async () => {
    const body = { and: [], sort: 'endpointId', sortOrder: 'desc', include: ['metadata'], limit: 3 }
    const answer = await admin(`POST ${root}/endpoints/search`, body)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(ids(answer), ['seen', 'pooled', 'new'])
    assert.equal(answer.body.totalElements, 6)
    for (const endpoint of answer.body.content)
      assert.deepEqual(endpoint, (await admin(`GET ${root}/endpoints/${endpoint.endpointId}?include=metadata`)).body)
  })
})

test('dates always have milliseconds', async () => {
  const [pooled] = (await page({ endpointId: 'pooled' })).body.content
  assert.equal(pooled.createdDate, '2026-01-02T03:04:05.000Z')
  assert.equal(pooled.appVersion.registeredDate, '2026-01-02T03:04:05.042Z')
  assert.deepEqual(pooled.poolIds, ['p "1"', 'p2'])
})

test('consecutive pages contain every endpoint once, and pages after the end are empty', async () => {
  const parts = await Promise.all([0, 2, 4, 6].map((offset) => page({ applicationName: app, offset, limit: 2 })))
  assert.deepEqual(parts.flatMap(ids), inOrder)
  for (const { body } of parts) assert.equal(body.totalElements, 6)
})
