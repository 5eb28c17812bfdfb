import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTrafficLog, root } from '../../../test/harness/traffic-log.ts'

const hourMs = 3_600_000
const hour = (ago: number) => new Date((Math.floor(Date.now() / hourMs) - ago) * hourMs + 1000)

test('when the traffic log exceeds its limit in bytes, the oldest hours of all tenants are deleted', async () => {
  const { waypost, record, pack, run, admin } = await openTrafficLog({
    environment: { WAYPOST_TRAFFIC_LOG_BYTES: '4000' },
  })
  const { sql } = waypost.kit.db
  const total = async () => (await admin(`GET ${root}/endpoint-traffic`)).body.totalElements
  for (const ago of [3, 2, 1])
    await record(
      ['default', 'other'].flatMap((tenantId) =>
        Array.from({ length: 100 }, (_, n) => ({ tenantId, correlationId: `c-${n}`, createdAt: hour(ago) })),
      ),
    )
  await pack()
  await run('size')
  const [{ bytes }] = (await sql`select sum(bytes)::int as bytes from traffic_log.stored`) as unknown as [
    { bytes: number },
  ]
  assert.ok(bytes <= 4000, `${bytes} bytes`)
  const kept = await total()
  assert.ok(kept > 0 && kept < 300 && kept % 100 === 0, `${kept} records`)
  const hours = await sql`select distinct since from traffic_log.stored order by 1`
  assert.deepEqual(
    hours.map(({ since }) => since.getTime()),
    [2, 1].slice(2 - kept / 100).map((ago) => hour(ago).getTime() - 1000),
  )
  const metrics = await waypost.kit.metrics.text()
  assert.match(metrics, new RegExp(`waypost_traffic_log_size_limit_records_total ${2 * (300 - kept)}`))
  assert.match(metrics, new RegExp(`waypost_traffic_log_stored_bytes ${bytes}`))
})

test('without a limit, no records are deleted', async () => {
  const { record, pack, run, admin } = await openTrafficLog({ environment: { WAYPOST_TRAFFIC_LOG_BYTES: '0' } })
  await record([{ createdAt: hour(3) }])
  await pack()
  await run('size')
  assert.equal((await admin(`GET ${root}/endpoint-traffic`)).body.totalElements, 1)
})
