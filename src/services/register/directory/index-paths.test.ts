/** Tests the directory with very small limits, so that few endpoints make it use its indexes, continue in a later step, or stop early. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openRegister } from '../../../../test/harness/register.ts'
import { seededRandom } from '../../../../test/harness/seeded-random.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { Register } from '../contract.ts'
import { filterIndex } from '../filters/store/members.ts'
import { countDirectory, createCountConcurrency } from './counts.ts'
import { type DirectoryRequest, type ListLimits, listDirectory } from './list.ts'
import { createTextSample } from './text-sample.ts'

const { waypost, anApplication, anEndpoint } = await openRegister()
const { db } = waypost.kit
const ctx = { ...waypost.kit.system('default'), caller: aTenantAdmin() } as Ctx

const [a, b] = [await anApplication(), await anApplication()]
const random = seededRandom(7)
const words = ['pump', 'valve', 'meter', 'насос', 'lamp']
interface Known {
  endpointId: string
  app: string
  name: string | undefined
  connected: boolean
  at: Date | undefined
  /** True if the endpoint was registered before 2026. */
  isOld: boolean
}
const known: Known[] = []
for (let n = 0; n < 30; n++) {
  const { app, version } = random() < 0.5 ? a : b
  const endpointId = `e-${Math.floor(random() * 1e6)}-${n}`
  const name = random() < 0.8 ? `${words[Math.floor(random() * words.length)]} ${n % 7}` : undefined
  await anEndpoint(version, { endpointId, metadata: name === undefined ? {} : { name } })
  const at = random() < 0.7 ? new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(random() * 30))) : undefined
  const connected = at !== undefined && random() < 0.3
  if (at) await waypost.ask(Register).setConnectivity([{ endpointId, connected, at, number: 1 }])
  known.push({ endpointId, app, name, connected, at, isOld: n % 2 === 0 })
}
const oldIds = known.filter(({ isOld }) => isOld).map(({ endpointId }) => endpointId)
await db.sql`update register.endpoints set created_date = '2025-06-01' where endpoint_id = any(${oldIds}::text[])`
const updateTask = waypost.built.get('register')!.periodic!.find(({ name }) => name === 'register.update-directory')!
await updateTask.run(db.sql as never)

const sampleOf = createTextSample(db)
const base: DirectoryRequest = {
  tenantId: undefined,
  endpointIds: undefined,
  applicationNames: undefined,
  versionNames: undefined,
  words: [],
  connections: undefined,
  activeAfter: undefined,
  activeBefore: undefined,
  filterIds: undefined,
  metadata: [],
  sort: { by: { field: 'createdDate' }, descending: false },
  cursor: undefined,
  limit: 4,
  includeMetadata: false,
}

async function all(limits: ListLimits, request: Partial<DirectoryRequest>, isIndexed = true): Promise<string[]> {
  const deps = { db, filters: filterIndex, sampleOf, isIndexed: async () => isIndexed, limits }
  const found: string[] = []
  for (let cursor: string | undefined, pages = 0; pages < 200; pages++) {
    const page = await listDirectory(deps, ctx, { ...base, ...request, cursor })
    found.push(...page.content.map(({ endpointId }) => endpointId))
    cursor = page.nextCursor
    if (!cursor) return found
  }
  throw new Error('the list does not end')
}

const limitSets: ListLimits[] = [
  { budgetMs: 1000, firstSteps: 1000, candidatesMax: 1000 },
  { budgetMs: 0, firstSteps: 1, candidatesMax: 1000 },
  { budgetMs: 0, firstSteps: 1, candidatesMax: 2 },
]

suite('lists of the directory', () => {
  const sorts: DirectoryRequest['sort']['by'][] = [
    { field: 'createdDate' },
    { field: 'endpointId' },
    { field: 'lastActivity' },
    { key: 'name' },
  ]
  const selections: [Partial<DirectoryRequest>, (one: Known) => boolean][] = [
    [{}, () => true],
    [{ words: ['pump'] }, ({ name }) => name?.startsWith('pump') ?? false],
    [{ words: ['на'] }, ({ name }) => name?.startsWith('насос') ?? false],
    [{ words: ['e'] }, () => true],
    [{ words: ['zq'] }, () => false],
    [
      { words: ['meter', '3'], applicationNames: [a.app] },
      (one) => one.app === a.app && /meter/.test(one.name ?? '') && /3/.test(one.name! + one.endpointId),
    ],
    [{ connections: ['connected'] }, ({ connected }) => connected],
    [
      { connections: ['connected', 'never'], words: ['lamp'] },
      (one) => (one.connected || !one.at) && /lamp/.test(one.name ?? ''),
    ],
    [
      { activeAfter: new Date(Date.UTC(2026, 0, 1, 0, 0, 15)) },
      ({ at }) => at !== undefined && at.getTime() >= Date.UTC(2026, 0, 1, 0, 0, 15),
    ],
    [
      { activeBefore: new Date(Date.UTC(2026, 0, 1, 0, 0, 15)) },
      ({ at, isOld }) => (at === undefined ? isOld : at.getTime() < Date.UTC(2026, 0, 1, 0, 0, 15)),
    ],
    [{ metadata: [{ key: { path: ['name'] }, operator: 'IN', values: ['pump 1'] }] }, ({ name }) => name === 'pump 1'],
  ]

  for (const by of sorts)
    test(`a list that an index finds is equal to a list from a scan of all endpoints, sorted by ${'key' in by ? by.key : by.field}`, async () => {
      for (const descending of [false, true])
        for (const [selection, wanted] of selections) {
          const sort = { by, descending }
          const [complete, ...others] = await Promise.all(
            limitSets.map((limits) => all(limits, { ...selection, sort })),
          )
          const expected = known.filter(wanted).map(({ endpointId }) => endpointId)
          assert.deepEqual([...complete!].sort(), expected.sort(), JSON.stringify(selection))
          for (const found of others) assert.deepEqual(found, complete, JSON.stringify({ selection, sort }))
          if (!('key' in by)) continue
          assert.deepEqual(
            await all(limitSets[0]!, { ...selection, sort }, false),
            complete,
            'a list that is sorted in memory must be equal',
          )
        }
    })

  test('a list that is sorted by a key without an index is rejected if too many endpoints match', async () => {
    const sort = { by: { key: 'name' }, descending: false }
    await assert.rejects(all(limitSets[2]!, { sort }, false), /directory\.keys/)
    assert.equal((await all(limitSets[2]!, { sort, words: ['zq'] }, false)).length, 0)
  })
})

suite('counts of the directory', () => {
  const counts = (limits: { budgetMs: number; steps: number; candidatesMax: number }, words: string[]) =>
    countDirectory(
      {
        db,
        filters: filterIndex,
        sampleOf,
        isCounted: async () => false,
        limits,
        concurrency: createCountConcurrency(),
      },
      ctx,
      {
        ...base,
        words,
        metadata: [],
        dimensions: [{ field: 'connection' }, { field: 'metadata', key: 'name' }],
        top: 100,
      },
    )

  test('counts of endpoints that an index finds are equal to counts from a scan in steps', async () => {
    for (const word of ['pump', 'e']) {
      const complete = await counts({ budgetMs: 1000, steps: 1000, candidatesMax: 1000 }, [word])
      assert.equal(complete.complete, true)
      assert.deepEqual(await counts({ budgetMs: 60_000, steps: 7, candidatesMax: 0 }, [word]), complete)
    }
  })

  test('a count that ends early is marked as incomplete', async () => {
    const cut = await counts({ budgetMs: 0, steps: 7, candidatesMax: 0 }, [])
    assert.deepEqual([cut.complete, cut.total], [false, 7])
    assert.equal(
      cut.counts[0]!.values.reduce((sum, { count }) => sum + count, 0),
      7,
    )
  })
})
