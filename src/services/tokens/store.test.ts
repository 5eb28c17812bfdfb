import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTokens } from '../../../test/harness/tokens.ts'
import { insertEndpointsWithTokens } from './store.ts'

const { waypost } = await openTokens()
const { db, now } = waypost.kit

test('inserting many endpoints with their tokens reads no table completely', async () => {
  await db.sql`
    insert into tokens.endpoints (endpoint_id, tenant_id, application_name)
    select 'known-' || n, 'default', 'plans' from generate_series(1, 20000) as n`
  await db.sql`analyze tokens.endpoints`
  const given = Array.from({ length: 500 }, (_, n) => ({
    endpointId: n === 7 ? 'known-7' : `new-${n}`,
    endpointTokenId: `token-${n}`,
    tokenHash: `hash-${n}`,
  }))
  await db.tx(async (sql) => {
    const owner = { tenantId: 'default', applicationName: 'plans', createdDate: now() }
    const inserted = await insertEndpointsWithTokens(sql, { owner, tokens: given })
    assert.equal(inserted.length, 500)
    assert.deepEqual(
      inserted.filter(({ existed }) => existed).map(({ endpointId }) => endpointId),
      ['known-7'],
    )
    const [row] = await sql`
      select seq_scan from pg_stat_xact_user_tables where schemaname = 'tokens' and relname = 'endpoints'`
    assert.equal(row?.seqScan, 0)
  })
})
