import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { independentPool } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aRecord, openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { createLog } from '../../kernel/log.ts'
import { createMetrics } from '../../kernel/metrics.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { writeBatches } from './write-batches.ts'
import { createWriter } from './writer.ts'

const dayMs = 86_400_000
const url = `GET ${root}/endpoint-traffic`

suite('retention', () => {
  test('partitions are created ahead, and dropped with their counts when they expire', async () => {
    let time = Date.UTC(2031, 0, 10, 23, 59, 50)
    const { waypost, record, run, log, admin, pack } = await openTrafficLog({
      now: () => new Date(time),
      environment: { WAYPOST_TRAFFIC_LOG_DAYS: '2' },
    })
    const { sql } = waypost.kit.db
    const days = async () =>
      (
        await sql`select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'traffic_log.blocks'::regclass order by 1`
      ).map(({ name }) => Number(name.slice(-2)))
    assert.deepEqual(await days(), [10, 11, 12, 13])
    const [analysed] = await sql`
      select array_agg(attname::text order by attname) as columns from pg_attribute
      where attrelid = 'traffic_log.blocks_20310110'::regclass and attnum > 0 and attstattarget is distinct from 0`
    assert.ok(analysed?.columns.includes('tenant_id') && !analysed.columns.includes('data'))

    for (const day of [10, 11, 12, 13, 14]) {
      await record([{ correlationId: `d-${day}`, createdAt: new Date(time) }])
      log.recordRefusal({ tenantId: 'default', transport: 'mqtt', address: '192.0.2.1', reason: 'bad_credentials' })
      await sql`insert into traffic_log.counts values ('elsewhere', 5, ${new Date(time)}, 'a', 'v', 'dcx', 1)`
      await pack()
      await run('partitions')
      const kept = Math.min(day - 9, 3)
      const answer = await admin(url)
      assert.equal(answer.body.totalElements, kept, answer.text)
      const [counted] = await sql`select count(*) from traffic_log.counts where tenant_id = 'elsewhere'`
      assert.equal(counted?.count, kept)
      time += dayMs
    }
    time -= dayMs
    // A partition that is being read, for example by autovacuum, is dropped in the next run.
    await eventually(async () => {
      await run('partitions')
      assert.deepEqual(await days(), [12, 13, 14, 15, 16, 17])
    })
    // The clock moves to a day without a partition, because the task has not run since.
    time += 6 * dayMs
    await record([{ correlationId: 'late', createdAt: new Date(time) }])
    assert.equal((await admin(`${url}?requestId=42&size=1`)).body.content[0].correlationId, 'late')
  })

  test('a partition that a query reads is dropped at the next run, and writers do not wait', async () => {
    let time = Date.UTC(2031, 0, 10)
    const { waypost, run, record } = await openTrafficLog({ now: () => new Date(time) })
    const { sql } = waypost.kit.db
    time += 30 * dayMs
    const partitionExists = async () =>
      (await sql`select to_regclass('traffic_log.blocks_20310110') is not null as yes`)[0]?.yes
    await independentPool(waypost.connection).begin(async (reader) => {
      await reader`select count(*) from traffic_log.blocks`
      await run('partitions')
      await record([{ createdAt: new Date(time) }])
      assert.equal(await partitionExists(), true)
    })
    await run('partitions')
    assert.equal(await partitionExists(), false)
  })
})

/** The traffic log of the following tests. Each test uses its own tenants. */
const { waypost, record, log, pack, stored } = await openTrafficLog()
const { db, now } = waypost.kit
const { sql } = db

suite('a deleted tenant', () => {
  test('when a tenant is deleted, its records up to the deletion are deleted, and all other records are kept', async () => {
    const old = new Date(Date.now() - 3_600_000)
    const some = Array.from({ length: 25_000 }, () => ({ tenantId: 'doomed', createdAt: old }))
    await record([...some, { tenantId: 'default', createdAt: old }])
    log.recordRefusal({ tenantId: 'doomed', transport: 'mqtt', address: '192.0.2.1', reason: 'bad_credentials' })
    const refusals = () => sql`select from traffic_log.refusals where tenant_id = 'doomed'`
    await eventually(async () => assert.equal((await refusals()).length, 1))
    await pack()
    await waypost.kit.db.tx((inner) => waypost.kit.bus.publish(inner, TenantDeleted, { tenantId: 'doomed' }))
    await waypost.kit.bus.settled()
    await eventually(async () => {
      const [remaining] = await sql`
        select (select count(*) from traffic_log.batches where tenant_id = 'doomed')
          + (select count(*) from traffic_log.blocks where tenant_id = 'doomed')
          + (select count(*) from traffic_log.endpoints where tenant_id = 'doomed')
          + (select count(*) from traffic_log.stored where tenant_id = 'doomed')
          + (select count(*) from traffic_log.counts where tenant_id = 'doomed')
          + (select count(*) from traffic_log.refusals where tenant_id = 'doomed') as n`
      assert.equal(remaining?.n, 0)
    })
    assert.equal((await waypost.as(aTenantAdmin())(url)).body.totalElements, 1)
  })

  test('a deleted tenant can be created again with the same name', async () => {
    await record([{ tenantId: 'phoenix', createdAt: new Date(Date.now() - 60_000) }])
    await pack()
    await waypost.kit.db.tx((inner) => waypost.kit.bus.publish(inner, TenantDeleted, { tenantId: 'phoenix' }))
    await waypost.kit.bus.settled()
    await record([{ tenantId: 'phoenix', correlationId: 'new', createdAt: new Date(Date.now() + 1) }])
    const ask = waypost.as(aTenantAdmin('phoenix'))
    await eventually(async () => {
      const { body } = await ask(url)
      assert.equal(body.totalElements, 1)
      assert.equal(body.content[0].correlationId, 'new')
    })
  })
})

suite('a write with an unknown outcome', () => {
  for (const isPacked of [false, true])
    test(`a write with an unknown outcome is not repeated if it was committed${isPacked ? ' and packed' : ''}`, async () => {
      const tenantId = `once-${isPacked}`
      const writer = createWriter({
        now,
        log: await createLog({ level: 'silent', format: 'json' }),
        metrics: createMetrics(),
        payloadBytesMax: 1024,
        writerId: tenantId,
        isTemporary: () => true,
        async write(batches, isRetry) {
          await writeBatches(db, batches.finish(), isRetry)
          if (isRetry) return
          if (isPacked) await pack()
          throw new Error('the connection ended after the commit')
        },
      })
      await Promise.all(Array.from({ length: 100 }, () => writer.add(aRecord({ tenantId }))))
      await writer.add(aRecord({ tenantId }))
      assert.equal((await stored(tenantId)).length, 101)
      await pack()
      assert.equal((await stored(tenantId)).length, 101)
    })
})
