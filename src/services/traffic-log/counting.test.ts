import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aCaller } from '../../../test/harness/builders.ts'
import { independentPool } from '../../../test/harness/database.ts'
import { openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { partsOf } from './traffic-query.ts'

suite('the parts of a time span', () => {
  test('cover it without a gap and without overlap, with whole buckets in the middle', () => {
    const number = fc.integer({ min: 0, max: 40 })
    fc.assert(
      fc.property(number, number, number, (from, length, countedUntil) => {
        const span = { from, to: from + length }
        const { early, counted, late } = partsOf(span, countedUntil, 5)
        assert.deepEqual([early.from, late.to], [span.from, span.to])
        assert.equal(early.to, counted.from)
        if (counted.from < counted.to) {
          assert.equal(counted.from % 5, 0)
          assert.ok(counted.to % 5 === 0 || counted.to === countedUntil)
          assert.ok(counted.to <= countedUntil)
          assert.equal(counted.to, late.from)
        } else assert.equal(early.to, late.from)
      }),
    )
  })
})

suite('pages and totals', () => {
  test('are the same from the counts as from the records', async () => {
    const { waypost, record, count, run } = await openTrafficLog()
    const hoursAgo = Date.now() - 6 * 3_600_000
    let seed = 7
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return seed % below
    }
    const some = (number: number, within: number) =>
      Array.from({ length: number }, (_, n) => ({
        correlationId: `${within}-${n}`,
        createdAt: new Date(hoursAgo + random(within)),
        applicationName: `app-${random(3)}`,
        versionName: `v-${random(2)}`,
        extension: ['dcx', 'cex'][random(2)]!,
        endpointId: `ep-${random(5)}`,
      }))
    await record(some(4000, 21_000_000))
    await count()
    await record(some(500, 20_400_000)) // late, so their time is raised
    await run('count')
    const { sql } = waypost.kit.db
    const all = await sql`
      select correlation_id as id, (extract(epoch from created_at) * 1000000)::bigint as at, application_name as app, version_name as version, extension,
        endpoint_id as endpoint
      from traffic_log.records order by created_at desc, correlation_id desc, outbound desc`
    assert.equal(all.length, 4500)
    const [state] = await sql`select counted_until from traffic_log.counting`
    assert.ok(all.filter(({ at }) => at < state?.countedUntil.getTime() * 1000).length >= 4000)

    const read = ['endpoint:read']
    const visibilities: [Record<string, string[]>, (row: (typeof all)[number]) => boolean][] = [
      [{ 'tenant-system': read }, () => true],
      [{ 'application-app-1': read, 'application-app-2': read }, ({ app }) => app !== 'app-0'],
      [
        { 'application-app-1': read, 'endpoint-ep-3': read },
        ({ app, endpoint }) => app === 'app-1' || endpoint === 'ep-3',
      ],
      [{ 'endpoint-ep-3': read, 'endpoint-ep-4': read }, ({ endpoint }) => endpoint === 'ep-3' || endpoint === 'ep-4'],
    ]
    for (const [on, sees] of visibilities) {
      const ask = waypost.as(aCaller({ on }))
      const check = async (round: number, parameters: URLSearchParams, from: number, to: number) => {
        const answer = await ask(`GET ${root}/endpoint-traffic?${parameters}`)
        assert.equal(answer.status, 200, answer.text)
        const expected = all.filter(
          (row) =>
            sees(row) &&
            (!parameters.has('fromCreatedAt') || row.at >= from * 1000) &&
            (!parameters.has('toCreatedAt') || row.at < (to + 1) * 1000) &&
            (!parameters.has('appVersionName') || row.version === 'v-1') &&
            (!parameters.has('extension') || row.extension === 'cex') &&
            (!parameters.has('endpointIds') || ['ep-1', 'ep-3'].includes(row.endpoint)),
        )
        if (round % 2 === 0) expected.reverse()
        const [size, page] = [Number(parameters.get('size')), Number(parameters.get('page'))]
        assert.equal(answer.body.totalElements, expected.length, String(parameters))
        assert.deepEqual(
          answer.body.content.map(({ correlationId }: { correlationId: string }) => correlationId),
          expected.slice(page * size, (page + 1) * size).map(({ id }) => id),
          String(parameters),
        )
      }
      for (let round = 0; round < 60; round++) {
        const [from, to] = [hoursAgo + random(21_600_000), hoursAgo + random(21_700_000)].sort((a, b) => a - b) as [
          number,
          number,
        ]
        const parameters = new URLSearchParams({ size: String(1 + random(150)), page: String(random(30)) })
        if (round % 3 > 0) parameters.set('fromCreatedAt', new Date(from).toISOString())
        if (round % 5 > 2) parameters.set('toCreatedAt', new Date(to).toISOString())
        if (round % 7 === 0) parameters.set('appVersionName', 'v-1')
        if (round % 11 === 0) parameters.set('extension', 'cex')
        if (round % 2 === 0) parameters.set('sortOrder', 'asc')
        if (round % 13 === 0) parameters.set('endpointIds', 'ep-1,ep-3')
        await check(round, parameters, from, to)
      }
    }
  })

  test('counting waits for transactions that began before the time was closed', async () => {
    const { waypost, record, run, count, admin } = await openTrafficLog()
    const { sql } = waypost.kit.db
    const old = new Date(Date.now() - 3_600_000)
    await record([{ createdAt: old }])
    await independentPool(waypost.connection).begin(async (slow) => {
      await slow`select traffic_log.enter()`
      for (let step = 0; step < 5; step++) await run('count')
      await slow`insert into traffic_log.records
        select ${old}, request_id, outbound, tenant_id, endpoint_id, application_name, version_name, extension, 'slow',
          resource_path, additional_metadata, payload from traffic_log.records`
      const [state] = await sql`select counted_until < ${old} as before from traffic_log.counting`
      assert.equal(state?.before, true)
    })
    await count()
    const [counted] = await sql`select sum(count)::int as n from traffic_log.counts where minutes = 60`
    assert.equal(counted?.n, 2)
    assert.equal((await admin(`GET ${root}/endpoint-traffic`)).body.totalElements, 2)
  })
})
