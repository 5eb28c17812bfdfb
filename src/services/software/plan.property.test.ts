/** Compares the selection of targets, for one endpoint and for all endpoints, with a slow and simple reference. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openSoftware } from '../../../test/harness/software.ts'
import { matchesOf, type PlannedVersion, planOf, targetOf } from './plan.ts'
import { comparePrecedence } from './semantic-version.ts'
import { countEndpoints, countRollout, countTargets, findEndpoints, findTargets } from './store/targets.ts'

const { waypost } = await openSoftware()
const { sql } = waypost.kit.db

interface Endpoint {
  endpointId: string
  current: number | null
  offered: number | null
  failed: number | null
  reportedAt: number
  bits: number[]
}

/** Literal implementation of document 3, 1.19 and document 5, 4: checks every version and returns the best version. */
function reference(versions: PlannedVersion[], { current, bits }: Endpoint, at: number): number | null {
  let best: PlannedVersion | undefined
  for (const version of versions) {
    if (current === null || !version.upgradableFrom.includes(current)) continue
    if (version.state !== 'active' || !version.hasContent) continue
    const isLetThrough = version.filters.some(
      ({ bit, date }) => bit !== undefined && bits.includes(bit) && (date === undefined || date <= at),
    )
    if (version.strategy === 'suspended' || (version.strategy === 'targeted' && !isLetThrough)) continue
    const order = best ? comparePrecedence(version.version, best.version) : 1
    if (order > 0 || (order === 0 && version.number > best!.number)) best = version
  }
  return best?.number ?? null
}

function stateOf(versions: PlannedVersion[], endpoint: Endpoint, target: number | null) {
  const resumedAt = versions.find(({ number }) => number === endpoint.failed)?.resumedAt ?? 0
  const failed = endpoint.reportedAt >= resumedAt ? endpoint.failed : null
  const { offered } = endpoint
  const state =
    target !== null && target !== offered && target !== failed
      ? 'waiting'
      : offered !== null
        ? 'offered'
        : failed !== null
          ? 'failed'
          : 'current'
  return { state, failed }
}

const now = Date.UTC(2026, 5, 1)
const bit = fc.constantFrom(0, 1, 2, 31, 32, 51, 52, 53, 70)
const moment = fc.constantFrom(now - 1000, now, now + 1000)
const numbers = 7

const aVersion = (number: number): fc.Arbitrary<PlannedVersion> =>
  fc
    .record({
      version: fc.constantFrom('1.0.0', '1.0.0+a', '1.0.0+b', '1.0.0-rc.1', '1.2.0', '1.10.0', '2.0.0', '0.1.0'),
      upgradableFrom: fc.uniqueArray(fc.integer({ min: 1, max: numbers })),
      strategy: fc.constantFrom('suspended', 'targeted', 'general'),
      state: fc.constantFrom('active', 'active', 'active', 'paused', 'halted'),
      filters: fc.array(fc.record({ bit, date: moment }, { requiredKeys: [] }), { maxLength: 3 }),
      hasContent: fc.constantFrom(true, true, true, false),
      resumedAt: fc.option(moment, { nil: undefined }),
    } as const)
    .map(({ resumedAt, upgradableFrom, ...rest }) => ({
      ...rest,
      number,
      upgradableFrom: upgradableFrom.filter((from) => from !== number),
      epoch: 0,
      ...(resumedAt !== undefined && { resumedAt }),
    }))

const someNumber = fc.option(fc.integer({ min: 1, max: numbers }), { nil: null })
const anEndpoint: fc.Arbitrary<Omit<Endpoint, 'endpointId'>> = fc.record({
  current: someNumber,
  offered: someNumber,
  failed: someNumber,
  reportedAt: moment,
  bits: fc.uniqueArray(bit, { maxLength: 4 }),
})

const aCase = fc.record({
  versions: fc.tuple(...Array.from({ length: numbers }, (_, index) => aVersion(index + 1))),
  endpoints: fc.array(anEndpoint, { minLength: 1, maxLength: 12 }),
  missing: fc.uniqueArray(fc.integer({ min: 1, max: numbers }), { maxLength: 3 }),
})

test('target selection equals the reference on random graphs, filters, dates and reports, for one endpoint and in SQL', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(aCase, async ({ versions: all, endpoints: some, missing }) => {
      const versions = all.filter(({ number }) => !missing.includes(number))
      const plan = planOf(1, versions)
      const endpoints: Endpoint[] = some.map((one, index) => ({
        ...one,
        endpointId: `e-${String(index).padStart(2, '0')}`,
      }))
      const application = { tenantId: 'default', applicationName: `property-${++run}` }
      const rows = endpoints.map(({ endpointId, current, offered, failed, reportedAt, bits }) => {
        const { mask: filterMask, more: moreFilters } = matchesOf(bits)
        const dates = { reportedDate: new Date(reportedAt), updatedDate: new Date(now) }
        return {
          ...application,
          endpointId,
          current,
          offered,
          failed,
          filterMask,
          moreFilters,
          matched: true,
          ...dates,
        }
      })
      await sql`insert into software.endpoints ${sql(rows)}`
      const targets = { plan, at: now }
      const expected = endpoints.map((endpoint) => {
        const target = reference(versions, endpoint, now)
        return { ...endpoint, target, ...stateOf(versions, endpoint, target) }
      })
      for (const { current, bits, target } of expected)
        assert.equal(targetOf(plan, current, matchesOf(bits), now)?.number ?? null, target)
      const found = await findEndpoints(sql, application, targets, { limit: 100 })
      assert.deepEqual(
        found.map(({ endpointId, target, state }) => ({ endpointId, target, state })),
        expected.map(({ endpointId, target, state }) => ({ endpointId, target, state })),
      )
      for (const { number } of versions) {
        const having = expected.filter(({ target }) => target === number)
        const counted = await countTargets(sql, application, targets, number)
        assert.equal(
          counted.reduce((sum, { count }) => sum + count, 0),
          having.length,
        )
        assert.equal(await countEndpoints(sql, application, targets, { target: number }), having.length)
        assert.deepEqual(
          await findTargets(sql, application, targets, number, 100),
          having.map(({ endpointId }) => endpointId),
        )
        const kinds = expected.map(({ current, offered, failed, target }) =>
          current === number
            ? 'applied'
            : offered === number
              ? 'offered'
              : failed === number
                ? 'failed'
                : target === number
                  ? 'waiting'
                  : '',
        )
        const count = (kind: string) => kinds.filter((one) => one === kind).length
        assert.deepEqual(await countRollout(sql, application, targets, number), {
          applied: count('applied'),
          offered: count('offered'),
          failed: count('failed'),
          waiting: count('waiting'),
        })
      }
    }),
    { numRuns: 30 },
  )
})

test('SQL distinguishes many targeted versions to which one version can be upgraded', async () => {
  const application = { tenantId: 'default', applicationName: 'property-wide' }
  const versions = Array.from(
    { length: 300 },
    (_, index): PlannedVersion => ({
      number: index + 1,
      version: `1.${index}.0`,
      upgradableFrom: index === 0 ? [] : [1],
      strategy: 'targeted',
      state: 'active',
      filters: [{ bit: index }],
      hasContent: true,
      epoch: 0,
    }),
  )
  const plan = planOf(1, versions)
  for (const one of [0, 1, 40, 51, 52, 60, 299]) {
    const { mask, more } = matchesOf([one])
    const row = {
      ...application,
      endpointId: `e-${one}`,
      current: 1,
      filterMask: mask,
      matched: true,
      updatedDate: new Date(now),
    }
    await sql`insert into software.endpoints ${sql(more ? { ...row, moreFilters: more } : row)}`
  }
  const found = await findEndpoints(sql, application, { plan, at: now }, { limit: 100 })
  assert.deepEqual(Object.fromEntries(found.map(({ endpointId, target }) => [endpointId, target])), {
    'e-0': null,
    'e-1': 2,
    'e-40': 41,
    'e-51': 52,
    'e-52': 53,
    'e-60': 61,
    'e-299': 300,
  })
})
