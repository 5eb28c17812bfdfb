import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'
import { TransactionConflictError } from '../../../kernel/db.ts'
import { Register } from '../contract.ts'
import { insertEndpoints } from './store/endpoints.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const { db, now } = waypost.kit
const common = { tenantId: 'default', applicationName: 'plans', at: now() }
const named = (endpointId: string) => ({ endpointId, versionName: 'plans-v1', metadata: { name: endpointId } })

suite('inserting endpoints', () => {
  test('inserting many endpoints reads no table completely, and leaves out endpoints whose id is taken', async () => {
    await db.sql`
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date, created_date)
      select 'known-' || n, 'default', 'plans', 'plans-v1', now(), now() from generate_series(1, 20000) as n`
    await db.sql`analyze register.endpoints`
    const given = Array.from({ length: 500 }, (_, n) => named(n % 100 === 7 ? `known-${n}` : `new-${n}`))
    await db.tx(async (sql) => {
      const inserted = await insertEndpoints(sql, common, given)
      assert.deepEqual(
        inserted.map(({ endpointId }) => endpointId),
        given.map(({ endpointId }) => endpointId).filter((id) => id.startsWith('new-')),
      )
      const [row] = await sql`
        select seq_scan from pg_stat_xact_user_tables where schemaname = 'register' and relname = 'endpoints'`
      assert.equal(row?.seqScan, 0)
    })
    const counts = await db.sql`
      select metadata_key, sum(difference)::int as count from register.count_differences
      where application_name = 'plans' group by metadata_key order by metadata_key`
    assert.deepEqual(
      counts.map(({ metadataKey, count }) => [metadataKey, count]),
      [
        ['', 495],
        ['name', 495],
      ],
    )
  })

  test('metadata and resource groups keep every character', async () => {
    const metadata = { 'a\nb': 'line\r\nbreak \\n "quoted" {} \u2028', nested: { list: [1.5, null, true, '€😀'] } }
    const resourceGroupIds = ['a', '"b"', 'c,d', '{e}', 'f\\g', 'NULL', ' ']
    await db.tx((sql) =>
      insertEndpoints(sql, common, [
        { ...named('texts-1'), metadata, resourceGroupIds },
        { ...named('texts-2'), metadata: {}, resourceGroupIds: [] },
      ]),
    )
    const rows = await db.sql`
      select metadata, resource_group_ids, pool_ids, metadata_updated_date is null as unset from register.endpoints
      where endpoint_id like 'texts-%' order by endpoint_id`
    assert.deepEqual(
      [...rows],
      [
        { metadata, resourceGroupIds, poolIds: resourceGroupIds, unset: false },
        { metadata: {}, resourceGroupIds: [], poolIds: [], unset: true },
      ],
    )
  })

  test('each endpoint gets its own version, and an empty list inserts nothing', async () => {
    const versions = ['plans-v1', 'plans-v2', 'plans-v1']
    const given = versions.map((versionName, n) => ({ endpointId: `version-${n}`, versionName, metadata: {} }))
    await db.tx((sql) => insertEndpoints(sql, common, given))
    assert.deepEqual(await db.tx((sql) => insertEndpoints(sql, common, [])), [])
    const rows = await db.sql`
      select version_name, pool_ids from register.endpoints where endpoint_id like 'version-%' order by endpoint_id`
    assert.deepEqual(
      [...rows],
      versions.map((versionName) => ({ versionName, poolIds: [] })),
    )
  })

  test('a transaction that waits for another insert of the same id is repeated, and finds the id taken', async () => {
    const inserted = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const first = db.tx(async (sql) => {
      await insertEndpoints(sql, common, [named('same')])
      inserted.resolve()
      await commit.promise
    })
    await inserted.promise
    let attempts = 0
    const second = db.tx(async (sql) => {
      attempts++
      return await insertEndpoints(sql, common, [named('same'), named(`other-${attempts}`)]).catch((error) => {
        assert.ok(error instanceof TransactionConflictError, String(error))
        throw error
      })
    })
    await eventually(async () => {
      const waiting = await db.sql`
        select from pg_locks join pg_stat_activity a using (pid)
        where not granted and locktype = 'transactionid' and a.datname = current_database()`
      assert.equal(waiting.length, 1)
    })
    commit.resolve()
    await first
    assert.deepEqual(
      (await second).map(({ endpointId }) => endpointId),
      ['other-2'],
    )
    assert.equal(attempts, 2)
  })
})

test('the text of a single endpoint is the text that lists contain', async () => {
  const { app, version } = await anApplication()
  const metadata = { name: 'Pump "1"', nested: { list: [1.5, null, 'ü\n'] }, z: 1, aa: 2 }
  await anEndpoint(version, { endpointId: `${app}-plain` })
  await anEndpoint(version, { endpointId: `${app}-grouped`, metadata, resourceGroupIds: ['b', 'a "c"'] })
  await anEndpoint(version, { endpointId: `${app}-connected`, metadata })
  const at = new Date('2026-01-02T03:04:05.678Z')
  const connected = { endpointId: `${app}-connected`, connected: true, at, number: 1 }
  await waypost.ask(Register).setConnectivity([connected])
  await db.sql`
    update register.endpoints set created_date = '2026-01-01 00:00:00.123987+00' where endpoint_id = ${`${app}-plain`}`
  for (const include of ['', 'include=metadata', 'include=filters', 'include=metadata,filters']) {
    const list = await admin(`GET ${root}/endpoints?applicationName=${app}&${include}`)
    const texts: string[] = []
    for (const endpointId of ['plain', 'grouped', 'connected'])
      texts.push((await admin(`GET ${root}/endpoints/${app}-${endpointId}?${include}`)).text)
    assert.equal(list.text, `{"totalElements":3,"content":[${texts}]}`, include)
  }
})
