/** Tests that a filter has exactly the matching endpoints if endpoints and filters change during the matching, and after interruptions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import type { Sql } from '../../../kernel/db.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const { sql } = waypost.kit.db
const filtersOf = (app: string) => `${root}/applications/${app}/filters`
const kyiv = { 'metadata.city': 'Kyiv' }

async function aFilter(app: string, documentQuery: unknown = {}): Promise<string> {
  const answer = await admin(`POST ${filtersOf(app)}`, { name: waypost.kit.newId(), documentQuery })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id
}
const active = (app: string, id: string) =>
  eventually(async () => {
    const { body, text } = await admin(`GET ${filtersOf(app)}/${id}`)
    assert.equal(body.status, 'active', text)
    return body
  })
const members = async (filterId: string) => ids(await admin(`GET ${root}/endpoints${query({ filterId })}`))

/** Inserts thousands of endpoints directly into the database. */
const someEndpoints = (app: string, version: string, count: number) => sql`
  insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
    created_date, metadata)
  select ${app} || n, 'default', ${app}, ${version}, now(), now(), jsonb_build_object('n', n, 'half', n % 2 = 0)
  from generate_series(1, ${count}::int) n`

const seqOf = async (endpointId: string): Promise<number> => {
  const [row] = await sql`select seq from register.endpoints where endpoint_id = ${endpointId}`
  return row?.seq
}

/** Pauses the matching of the next filter of the application until `release` is called, in the step that contains this endpoint. */
async function heldAt(endpointId: string) {
  const [{ next } = { next: 0 }] = await sql<{ next: number }[]>`
    select last_value + case when is_called then 1 else 0 end as next from register.member_sets`
  const seq = await seqOf(endpointId)
  const waiting = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const done = sql
    .begin(async (tx) => {
      await tx`insert into register.filter_members (tenant_id, member_set, seq) values ('default', ${next}, ${seq})`
      released.resolve()
      await waiting.promise
      throw new Error('released')
    })
    .catch(() => reached.resolve())
  await released.promise
  return {
    release: async () => {
      waiting.resolve()
      await done
      await reached.promise
    },
    isReached: () => eventually(async () => assert.equal((await waitingForMembers(sql)).length, 1)),
  }
}

const waitingForMembers = (on: Sql) => on`
  select pid from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%register.filter_members%'
    and pid <> pg_backend_pid()`

suite('while a filter is pending', () => {
  test('lists cannot use a pending filter, and endpoints do not show it', async () => {
    const { app, version } = await anApplication()
    const id = await anEndpoint(version, { metadata: { city: 'Kyiv' } })
    const hold = await heldAt(id)
    const filterId = await aFilter(app, kyiv)
    await hold.isReached()
    const { status, body } = await admin(`GET ${root}/endpoints?filterId=${filterId}`)
    assert.equal(status, 400)
    assert.match(body.message, /filterId.*still being matched/)
    assert.deepEqual((await admin(`GET ${root}/endpoints/${id}?include=filters`)).body.filters, [])
    await hold.release()
    await active(app, filterId)
    assert.deepEqual(await members(filterId), [id])
  })

  test('the matching does not process endpoints that are registered during its last step, because fast registrations could keep it from ending', async () => {
    const { app, version } = await anApplication()
    const inKyiv = () => anEndpoint(version, { metadata: { city: 'Kyiv' } })
    const first = await inKyiv()
    const hold = await heldAt(first)
    const filterId = await aFilter(app, kyiv)
    await hold.isReached()
    const later = await inKyiv()
    await hold.release()
    await active(app, filterId)
    assert.deepEqual(await members(filterId), [first, later])
    const tasks = await sql`select succeeded::integer from kernel.bulk_tasks where data ->> 'filterId' = ${filterId}`
    assert.deepEqual(
      tasks.map(({ succeeded }) => succeeded),
      [1],
    )
  })

  test('endpoints that change during the matching are members according to their last state', async () => {
    const { app, version } = await anApplication()
    const inKyiv = () => anEndpoint(version, { metadata: { city: 'Kyiv' } })
    const [first, leaves, goes, stays] = [await inKyiv(), await inKyiv(), await inKyiv(), await inKyiv()]
    const [comes, returns, never] = [await anEndpoint(version), await inKyiv(), await anEndpoint(version)]
    const hold = await heldAt(first)
    const filterId = await aFilter(app, kyiv)
    await hold.isReached()
    // The step has already taken its snapshot, so it does not see the changes below.
    const city = (id: string, name: string) => admin(`PUT ${root}/endpoints/${id}/metadata/city`, JSON.stringify(name))
    await city(leaves, 'Lviv')
    await admin(`DELETE ${root}/endpoints/${goes}`)
    await city(comes, 'Kyiv')
    await city(returns, 'Lviv')
    await city(returns, 'Kyiv')
    await city(never, 'Kyiv')
    await admin(`DELETE ${root}/endpoints/${never}`)
    const late = await inKyiv()
    await hold.release()
    assert.equal((await active(app, filterId)).matchedEndpointsCount, 5)
    assert.deepEqual(await members(filterId), [first, stays, comes, returns, late])
    const filterEvents = publishedEvents
      .filter(({ payload }) => payload.filterId === filterId)
      .map(({ event }) => event)
    assert.deepEqual(filterEvents, ['register.filter.pending', 'register.filter.activated'])
    const [row] = await sql`select count(*) from register.filter_members where not matched`
    assert.equal(row?.count, 0)
  })

  test('an edit stops the matching of the previous query', async () => {
    const { app, version } = await anApplication()
    await someEndpoints(app, version, 5000)
    const hold = await heldAt(`${app}4001`)
    const filterId = await aFilter(app, {})
    await hold.isReached()
    const edited = admin(`PATCH ${filtersOf(app)}/${filterId}`, { documentQuery: { 'metadata.n': { $lte: 3 } } })
    await hold.release()
    assert.equal((await edited).status, 200)
    assert.equal((await active(app, filterId)).matchedEndpointsCount, 3)
    assert.deepEqual(await members(filterId), [`${app}1`, `${app}2`, `${app}3`])
    await eventually(async () => {
      const [row] = await sql`select count(*) from register.filter_members where member_set not in (
        select member_set from register.filters)`
      assert.equal(row?.count, 0)
    })
  })
})

suite('an interrupted matching', () => {
  test('an interrupted matching continues after the last completed step', async () => {
    const { app, version } = await anApplication()
    await someEndpoints(app, version, 5000)
    const hold = await heldAt(`${app}2002`)
    const filterId = await aFilter(app, { 'metadata.half': true })
    await hold.isReached()
    const [{ until, found } = { until: 0, found: 0 }] = await sql`
      select cursor as until, (
        select count(*) from register.filter_members m join register.filters f using (member_set)
        where f.filter_id = ${filterId}) as found
      from kernel.bulk_tasks where data ->> 'filterId' = ${filterId}`
    assert.deepEqual([until, found], [await seqOf(`${app}2000`), 1000])
    await sql`
      create function public.power_cut() returns trigger language plpgsql as $$ begin raise 'power cut'; end $$`
    await sql`
      create trigger power_cut before update of cursor on kernel.bulk_tasks execute function public.power_cut()`
    await hold.release()
    await eventually(async () => {
      const [row] =
        await sql`select from jobs.job where name = 'register.match-filter' and (retry_count > 0 or state = 'retry')`
      assert.ok(row)
    })
    await sql`drop trigger power_cut on kernel.bulk_tasks`
    assert.equal((await active(app, filterId)).matchedEndpointsCount, 2500)
    const { body } = await admin(`GET ${root}/endpoints${query({ filterId, offset: 2499, limit: 1 })}`)
    assert.deepEqual([body.totalElements, body.content[0].endpointId], [2500, `${app}5000`])
  })

  test('an interrupted matching is resumed when its job is lost', async () => {
    const { app, version } = await anApplication()
    const id = await anEndpoint(version)
    const filterId = await aFilter(app)
    await active(app, filterId)
    await sql`update register.filters set status = 'pending' where filter_id = ${filterId}`
    await sql`
      update kernel.bulk_tasks set state = 'waiting', finished_at = null, touched_at = now() - interval '1 hour'
      where data ->> 'filterId' = ${filterId}`
    const resume = waypost.kit.bulk.periodic.find(({ name }) => name === 'kernel.resume-bulk')
    await waypost.kit.db.tx((tx) => resume!.run(tx))
    await active(app, filterId)
    assert.deepEqual(await members(filterId), [id])
  })
})

test('queries of users create no prepared statements', async () => {
  const { app, version } = await anApplication()
  await anEndpoint(version)
  await active(app, await aFilter(app, { $or: [{ 'metadata.a': { $gt: 1 } }, { 'metadata.b': 2 }] }))
  const kept = await Promise.all(
    Array.from(
      { length: 20 },
      () => sql`
        select count(*) from pg_prepared_statements
        where statement like ${'%insert into register.filter_members%'} and statement like ${'%jsonb_path_match%'}`,
    ),
  )
  assert.ok(kept.every(([row]) => row?.count === 0))
})
