import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aCaller } from '../../../test/harness/builders.ts'
import { openTrafficLog, root } from '../../../test/harness/traffic-log.ts'
import { partsOf } from './search/totals.ts'

suite('the parts of a time span', () => {
  test('a time span is split into whole hours, whole five minutes and the rest, without gaps and overlaps', () => {
    const number = fc.integer({ min: 0, max: 40 * 3_600_000_000 })
    fc.assert(
      fc.property(number, number, (from, length) => {
        const span = { from, to: from + length + 1 }
        const { hours, minutes, rest } = partsOf(span)
        const parts = [...(hours ? [hours] : []), ...minutes, ...rest].sort((a, b) => a.from - b.from)
        assert.deepEqual([parts[0]!.from, parts.at(-1)!.to], [span.from, span.to])
        for (const [index, part] of parts.slice(1).entries()) assert.equal(part.from, parts[index]!.to)
        for (const [parts, bucket] of [
          [hours ? [hours] : [], 3_600_000_000],
          [minutes, 300_000_000],
        ] as const)
          for (const part of parts) assert.deepEqual([part.from % bucket, part.to % bucket], [0, 0])
      }),
    )
  })
})

suite('pages and totals', () => {
  test('pages and totals that are computed from counts equal the pages and totals of the records', async () => {
    const { waypost, record, pack, stored } = await openTrafficLog()
    const hoursAgo = Date.now() - 6 * 3_600_000
    let seed = 7
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return seed % below
    }
    const randomRecords = (number: number, within: number) =>
      Array.from({ length: number }, (_, n) => ({
        correlationId: `${within}-${n}`,
        createdAt: new Date(hoursAgo + random(within)),
        applicationName: `app-${random(3)}`,
        versionName: `v-${random(2)}`,
        extension: ['dcx', 'cex'][random(2)]!,
        endpointId: `ep-${random(5)}`,
      }))
    await record(randomRecords(4000, 21_000_000))
    await pack()
    await record(randomRecords(500, 20_400_000)) // These records are late, so their blocks overlap other blocks.
    await pack()
    await record(randomRecords(500, 20_800_000)) // These records are not packed.
    const all = (await stored('default'))
      .map((one) => ({
        id: one.correlationId,
        at: one.micros,
        app: one.applicationName,
        version: one.versionName,
        extension: one.extension,
        endpoint: one.endpointId,
      }))
      .reverse()
    assert.equal(all.length, 5000)

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
})
