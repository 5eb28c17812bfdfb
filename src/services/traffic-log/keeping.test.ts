import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRecord, openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { TenantDeleted } from '../tenants/events.ts'

const dayMs = 86_400_000
const url = `GET ${root}/endpoint-traffic`

suite('retention', () => {
  test('days are made ahead, and dropped with all that was counted once they are too old', async () => {
    let time = Date.UTC(2031, 0, 10, 23, 59, 50)
    const { house, record, run, log, admin } = await openTrafficLog({
      now: () => new Date(time),
      environment: { WAYPOST_TRAFFIC_LOG_DAYS: '2' },
    })
    const { sql } = house.kit.db
    const days = async () =>
      (
        await sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'traffic_log.records'::regclass order by 1`
      ).map(({ name }) => Number(name.slice(-2)))
    assert.deepEqual(await days(), [10, 11, 12, 13])

    for (const day of [10, 11, 12, 13, 14]) {
      await record([{ correlationId: `d-${day}`, createdAt: new Date(time) }])
      log.refuse({ tenantId: 'default', transport: 'mqtt', address: '192.0.2.1', reason: 'bad_credentials' })
      await sql`insert into traffic_log.counts values ('elsewhere', 5, ${new Date(time)}, 'a', 'v', 'dcx', 1)`
      await run('partitions')
      const kept = Math.min(day - 9, 3)
      const answer = await admin(url)
      assert.equal(answer.body.totalElements, kept, answer.text)
      const [counted] = await sql`select count(*) from traffic_log.counts`
      assert.equal(counted?.count, kept)
      time += dayMs
    }
    assert.deepEqual(await days(), [12, 13, 14, 15, 16, 17])
    // Ten seconds on it is the next day, before the task has run.
    time += 5 * dayMs
    await record([{ correlationId: 'late', createdAt: new Date(time) }])
    assert.equal((await admin(`${url}?requestId=42&size=1`)).body.content[0].correlationId, 'late')
  })

  test('a day that somebody reads is dropped the next time, and nobody has to wait', async () => {
    let time = Date.UTC(2031, 0, 10)
    const { house, run, record } = await openTrafficLog({ now: () => new Date(time) })
    const { sql } = house.kit.db
    time += 30 * dayMs
    const there = async () => (await sql`select to_regclass('traffic_log.records_20310110') is not null as yes`)[0]?.yes
    await sql.begin(async (reader) => {
      await reader`select count(*) from traffic_log.records`
      await run('partitions')
      await record([{ createdAt: new Date(time) }])
      assert.equal(await there(), true)
    })
    await run('partitions')
    assert.equal(await there(), false)
  })
})

suite('a deleted tenant', () => {
  test('takes along what is its own up to then, and nothing else', async () => {
    const { house, record, log, count } = await openTrafficLog()
    const { sql } = house.kit.db
    const old = new Date(Date.now() - 3_600_000)
    const some = Array.from({ length: 25_000 }, () => ({ tenantId: 'doomed', createdAt: old }))
    await record([...some, { tenantId: 'default', createdAt: old }])
    log.refuse({ tenantId: 'doomed', transport: 'mqtt', address: '192.0.2.1', reason: 'bad_credentials' })
    await eventually(async () => assert.equal((await sql`select from traffic_log.refusals`).length, 1))
    await count()
    await house.kit.db.tx((inner) => house.kit.bus.publish(inner, TenantDeleted, { tenantId: 'doomed' }))
    await house.kit.bus.settled()
    await eventually(async () => {
      const [left] = await sql`
        select (select count(*) from traffic_log.records where tenant_id = 'doomed')
          + (select count(*) from traffic_log.counts where tenant_id = 'doomed')
          + (select count(*) from traffic_log.refusals where tenant_id = 'doomed') as n`
      assert.equal(left?.n, 0)
    })
    assert.equal((await house.as(aTenantAdmin())(url)).body.totalElements, 1)
  })

  test('may come back under its name', async () => {
    const { house, record, count } = await openTrafficLog()
    await record([{ tenantId: 'phoenix', createdAt: new Date(Date.now() - 60_000) }])
    await count()
    await house.kit.db.tx((inner) => house.kit.bus.publish(inner, TenantDeleted, { tenantId: 'phoenix' }))
    await house.kit.bus.settled()
    await record([{ tenantId: 'phoenix', correlationId: 'new', createdAt: new Date(Date.now() + 1) }])
    const ask = house.as(aTenantAdmin('phoenix'))
    await eventually(async () => {
      const { body } = await ask(url)
      assert.equal(body.totalElements, 1)
      assert.equal(body.content[0].correlationId, 'new')
    })
  })
})

suite('the database', () => {
  test('whose connections are cut in the middle loses nothing that was acknowledged, and writes nothing twice', async () => {
    const { house, log } = await openTrafficLog({ environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
    const { sql } = house.kit.db
    const acknowledged: string[] = []
    let going = true
    const writers = Array.from({ length: 20 }, async (_, writer) => {
      for (let n = 0; going; n++) {
        const correlationId = `${writer}-${n}`
        await log.record(aRecord({ correlationId }))
        acknowledged.push(correlationId)
      }
    })
    for (let round = 0; round < 15; round++) {
      const goal = acknowledged.length + 200
      await eventually(() => assert.ok(acknowledged.length > goal), { withinMs: 20_000, everyMs: 5 })
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query like 'copy %'`.catch(() => {})
    }
    going = false
    await Promise.all(writers)
    const rows = await sql`select correlation_id, count(*) from traffic_log.records group by 1`
    const stored = new Map(rows.map((row) => [row.correlationId, row.count]))
    assert.deepEqual(
      acknowledged.filter((id) => stored.get(id) !== 1),
      [],
    )
  })
})
