/** Tests the counts from which lists of alerts take totals and metadata keys. After any change, they must equal the numbers of rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAlerts } from '../../../../test/harness/alerts.ts'
import { seededRandom } from '../../../../test/harness/seeded-random.ts'
import { addUpCounts } from './store/alerts.ts'
import { countAlerts, findMetadataKeys, type Visible } from './store/lists.ts'

const { waypost, admin, anEndpoint, activate, resolveOpen, root } = await openAlerts()
const { sql } = waypost.kit.db
const visible: Visible = { tenantId: 'default', all: true }
const severities = ['INFO', 'LOW', 'HIGH'] as const
const random = seededRandom(7)
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!

/** Compares the counts with the rows. */
async function compare() {
  const [row] = await sql<{ all: number; open: number; high: number; acknowledged: number; ofType: number }[]>`
    select count(*)::int as all, count(*) filter (where state = 'OPEN')::int as open,
      count(*) filter (where severity = 3)::int as high, count(*) filter (where is_acknowledged)::int as acknowledged,
      count(*) filter (where alert_type = 'T1')::int as of_type
    from rules.alerts`
  const counted = {
    all: await countAlerts(sql, visible),
    open: await countAlerts(sql, { ...visible, states: ['OPEN'] }),
    high: await countAlerts(sql, { ...visible, severities: [3] }),
    acknowledged: await countAlerts(sql, { ...visible, isAcknowledged: true }),
    ofType: await countAlerts(sql, { ...visible, alertTypes: ['T1'] }),
  }
  assert.deepEqual(counted, { ...row })
  for (const [kind, column] of [
    ['ALERT', 'metadata'],
    ['ENTITY', 'entity_metadata'],
  ] as const) {
    const keys = await sql.unsafe(`select distinct jsonb_object_keys(${column}) as key from rules.alerts order by 1`)
    const names = [...keys].map(({ key }) => String(key))
    assert.deepEqual(await findMetadataKeys(sql, visible, kind, 1000), names.sort())
  }
  return row!
}

test('after random changes of alerts the counts equal the rows, before and after the differences are added up', async () => {
  const endpoints = [await anEndpoint({ room: 'a' }), await anEndpoint({ floor: 1, room: 'b' }), await anEndpoint()]
  const alertIds: string[] = []
  for (let n = 0; n < 150; n++) {
    const endpoint = pick(endpoints)
    const alertType = pick(['T1', 'T2'])
    const kind = random()
    if (kind < 0.5) {
      const metadata = pick([undefined, { a: 1 }, { a: 2, b: { c: 3 } }, {}])
      const { alertId } = await activate(endpoint, { alertType, severityLevel: pick(severities), metadata })
      alertIds.push(alertId)
    } else if (kind < 0.7) await resolveOpen(endpoint, { alertType })
    else if (kind < 0.8 && alertIds.length > 0)
      await admin(`PUT ${root}/alerts/${pick(alertIds)}/acknowledgement`, { acknowledgement: 'ACKNOWLEDGED' })
    else if (kind < 0.9 && alertIds.length > 0) await admin(`DELETE ${root}/alerts/${pick(alertIds)}`)
    else await addUpCounts(sql)
    if (n % 10 === 0) await compare()
  }
  const { all } = await compare()
  assert.ok(all > 5)
  await addUpCounts(sql)
  await compare()
  const [left] = await sql`select count(*)::int as n from rules.alert_counts where not is_sum`
  assert.equal(left!.n, 0)
  await sql`delete from rules.alerts`
  await addUpCounts(sql)
  const [rows] = await sql`
    select (select count(*) from rules.alert_counts)::int + (select count(*) from rules.alert_keys)::int as n`
  assert.equal(rows!.n, 0)
})
