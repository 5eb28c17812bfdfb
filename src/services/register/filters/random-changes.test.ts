/**
 * Runs hundreds of registrations, changes and edits of filters concurrently, then checks that every filter has exactly the
 * endpoints that match it. TEST_SEED repeats a run; TEST_RUNS sets the number of steps.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'
import { Register } from '../contract.ts'
import { matches } from '../document-query/evaluate.ts'
import { parse } from '../document-query/parse.ts'
import { toSql } from '../document-query/sql.ts'

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)
const steps = Number(process.env.TEST_RUNS ?? 400)
const workers = 6

const { waypost, admin, anApplication } = await openRegister()
const { sql } = waypost.kit.db
const register = waypost.ask(Register)

function createRandom(state: number) {
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return { below, pick: <T>(values: readonly T[]): T => values[below(values.length)]! }
}
type Random = ReturnType<typeof createRandom>

const keys = ['a', 'b', 'c'] as const
const values = [1, 2, 3.5, 'x', 'y', 'xy', true, null, [1, 'x'], { d: 1 }, { d: [2, 3] }, []]

const aMetadata = (random: Random) =>
  Object.fromEntries(keys.filter(() => random.below(3) > 0).map((key) => [key, random.pick(values)]))

function aQuery(random: Random, versions: string[], depth = 0): Record<string, unknown> {
  const key = random.pick(keys)
  const nested = () => aQuery(random, versions, depth + 1)
  const queryKinds: (() => Record<string, unknown>)[] = [
    () => ({ [`metadata.${key}`]: random.pick(values) }),
    () => ({ [`metadata.${key}`]: { $in: [random.pick(values), random.pick(values)] } }),
    () => ({ [`metadata.${key}`]: { $ne: random.pick(values) } }),
    () => ({ [`metadata.${key}`]: { $gt: random.pick([1, 2, 'x']) } }),
    () => ({ [`metadata.${key}`]: { $exists: random.below(2) === 0 } }),
    () => ({ [`metadata.${key}`]: { $regex: random.pick(['^x', 'y$']) } }),
    () => ({ [`metadata.${key}.d`]: random.pick([1, 2]) }),
    () => ({ metadata: { $elemMatch: { key, value: random.pick(values) } } }),
    () => ({ 'metadata.value': random.pick(['x', 1]) }),
    () => ({ metadata: { $size: random.below(4) } }),
    () => ({ application_version: random.pick(versions) }),
    () => ({ 'metadata.connected': random.pick([true, false, null]) }),
    () => ({}),
    () => ({ $or: [nested(), nested()] }),
    () => ({ $and: [nested(), nested()] }),
    () => ({ $nor: [nested()] }),
  ]
  return queryKinds[random.below(depth < 2 ? queryKinds.length : queryKinds.length - 3)]!()
}

interface Application {
  app: string
  versions: string[]
  endpoints: string[]
  filters: string[]
}

async function anApplicationWith(count: number): Promise<Application> {
  const { app } = await anApplication(admin, ['v1', 'v2'])
  const random = createRandom(seed ^ count)
  const rows = Array.from({ length: count }, (_, n) => ({ id: `${app}-${n}`, metadata: aMetadata(random) }))
  await sql`
    insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
      created_date, metadata)
    select id, 'default', ${app}, ${`${app}-v1`}, now(), now(), metadata
    from jsonb_to_recordset(${sql.json(rows as never)}) as r(id text, metadata jsonb)`
  return { app, versions: [`${app}-v1`, `${app}-v2`], endpoints: rows.map(({ id }) => id), filters: [] }
}

let createdCount = 0
let connectivityNumber = 0
const filtersOf = (app: string) => `${root}/applications/${app}/filters`

async function runRandomAction(random: Random, application: Application) {
  const { app, versions, endpoints, filters } = application
  const id = random.pick(endpoints)
  const endpoint = `${root}/endpoints/${id}`
  const removeRandom = (list: string[]) => list.splice(random.below(list.length), 1)[0]!
  const mayDelete = endpoints.length > 30
  const actions: [weight: number, act: () => Promise<unknown>][] = [
    [
      10,
      async () => {
        const body = { endpointId: `${app}-new-${++createdCount}`, metadata: aMetadata(random) }
        await admin(`POST ${root}/endpoints`, { appVersion: { name: random.pick(versions) }, ...body })
        endpoints.push(body.endpointId)
      },
    ],
    [15, () => admin(`PUT ${endpoint}/metadata`, aMetadata(random))],
    [25, () => admin(`PUT ${endpoint}/metadata/${random.pick(keys)}`, JSON.stringify(random.pick(values)))],
    [8, () => admin(`DELETE ${endpoint}/metadata/${random.pick(keys)}`)],
    [5, () => register.updateMetadata(id, { merge: aMetadata(random) })],
    [8, () => admin(`PUT ${endpoint}/app-version`, { name: random.pick(versions) })],
    [
      6,
      () =>
        register.setConnectivity(
          Array.from({ length: 5 }, () => ({
            endpointId: random.pick(endpoints),
            connected: random.below(2) === 0,
            at: new Date(),
            number: ++connectivityNumber,
          })),
        ),
    ],
    [4, async () => mayDelete && (await admin(`DELETE ${root}/endpoints/${removeRandom(endpoints)}`))],
    [
      1,
      async () => {
        const endpointIds = Array.from({ length: mayDelete ? 10 : 0 }, () => removeRandom(endpoints))
        await admin(`POST ${root}/endpoints/delete`, { endpointIds })
      },
    ],
    [
      4,
      async () => {
        if (filters.length > 25) return
        const body = { name: `f${++createdCount}`, documentQuery: aQuery(random, versions) }
        filters.push((await admin(`POST ${filtersOf(app)}`, body)).body.id)
      },
    ],
    [
      4,
      async () => {
        if (filters.length === 0) return
        await admin(`PATCH ${filtersOf(app)}/${random.pick(filters)}`, { documentQuery: aQuery(random, versions) })
      },
    ],
    [2, async () => filters.length > 0 && (await admin(`DELETE ${filtersOf(app)}/${removeRandom(filters)}`))],
    [1, foldCounts],
  ]
  const weightedActions = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))
  await random.pick(weightedActions)()
}

const foldCounts = () =>
  waypost.kit.db.tx((tx) =>
    waypost.built
      .get('register')!
      .periodic!.find(({ name }) => name === 'register.fold-counts')!
      .run(tx),
  )

/** Makes steps of the matching fail for a short time. */
async function failMatchingSteps() {
  await sql`
    create trigger power_cut before update on kernel.bulk_tasks
    for each row when (new.cursor > old.cursor) execute function public.power_cut()`
  await new Promise((resolve) => setTimeout(resolve, 100))
  await sql`drop trigger power_cut on kernel.bulk_tasks`
}

async function checkMembers({ app, filters }: Application) {
  const { body } = await admin(`GET ${filtersOf(app)}?limit=0`)
  assert.deepEqual(body.content.map(({ id }: { id: string }) => id).sort(), [...filters].sort())
  const all = await sql`
    select endpoint_id, version_name, register.whole_metadata(metadata, connected, connectivity_ts) as metadata
    from register.endpoints where application_name = ${app} order by seq`
  for (const { id, documentQuery, matchedEndpointsCount, status } of body.content) {
    const message = `seed ${seed}: ${JSON.stringify(documentQuery)}`
    assert.equal(status, 'active', message)
    const query = parse(documentQuery)
    const members = await sql`
      select e.endpoint_id from register.filters f join register.filter_members m using (member_set)
        left join register.endpoints e on e.seq = m.seq where f.filter_id = ${id} order by m.seq`
    const storedMembers = members.map(({ endpointId }) => endpointId)
    const inMemory = all.filter((row) => matches(query, row as never)).map(({ endpointId }) => endpointId)
    const inSql = await sql`
      select endpoint_id from (
        select endpoint_id, seq, version_name, register.whole_metadata(metadata, connected, connectivity_ts) as metadata
        from register.endpoints where application_name = ${app} offset 0) e
      where ${toSql(sql, query, { metadata: 'e.metadata', versionName: 'e.version_name' })} order by seq`
    assert.deepEqual(storedMembers, inMemory, message)
    assert.deepEqual(
      storedMembers,
      inSql.map(({ endpointId }) => endpointId),
      message,
    )
    assert.equal(matchedEndpointsCount, storedMembers.length, message)
  }
}

test(`every filter has exactly the matching endpoints after random concurrent changes (seed ${seed}, ${steps} steps)`, async (t) => {
  await sql`create function public.power_cut() returns trigger language plpgsql as $$ begin raise 'power cut'; end $$`
  const applications = [await anApplicationWith(2500), await anApplicationWith(40)]
  const stepsPerRound = 400
  for (let done = 0; done < steps; done += stepsPerRound) {
    await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        const random = createRandom(seed + done * workers + worker)
        for (let n = worker; n < Math.min(stepsPerRound, steps - done); n += workers) {
          if (n === stepsPerRound / 2) await failMatchingSteps()
          await runRandomAction(random, random.pick(applications))
        }
      }),
    )
    await eventually(
      async () => {
        const [row] = await sql`select count(*) from register.filters where status = 'pending'`
        assert.equal(row?.count, 0)
      },
      { withinMs: 30_000 },
    )
    for (const application of applications) await checkMembers(application)
  }
  await eventually(async () => {
    const [remaining] = await sql`
      select count(*) from register.filter_members m
      where not matched or not exists (select from register.filters f where f.member_set = m.member_set)`
    assert.equal(remaining?.count, 0)
  })
  await foldCounts()
  for (const application of applications) await checkMembers(application)
  t.diagnostic(
    `${applications.map(({ endpoints, filters }) => `${endpoints.length} endpoints, ${filters.length} filters`)}`,
  )
})
