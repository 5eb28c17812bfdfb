import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const { version } = await anApplication()
const some = (count: number) => Promise.all(Array.from({ length: count }, () => anEndpoint(version)))
const contains = (from: string, to: string) => ({ type: 'contains', from, to })
const link = (...relations: object[]) => admin(`PUT ${root}/relations/link`, relations)
const unlink = (...relations: object[]) => admin(`PUT ${root}/relations/unlink`, relations)
const related = async (id: string, relation = 'contains', ask = admin) =>
  (await ask(`GET ${root}/endpoints/${id}/relations?relation=${relation}`)).body

suite('linking many endpoints', () => {
  test('linking many endpoints below many levels of wide hierarchies is fast', { timeout: 20_000 }, async () => {
    const batch = { appVersion: { name: version }, endpoints: Array.from({ length: 400 }, () => ({})) }
    const { taskId } = (await admin(`POST ${root}/endpoints/batch`, batch)).body
    const ids = await eventually(async () => {
      const { body } = await admin(`GET ${root}/endpoints/batch/status?taskId=${taskId}`)
      assert.equal(body.createdCount, 400)
      return body.created.map(({ endpointId }: { endpointId: string }) => endpointId) as string[]
    })
    const apart = (steps: number) => ids.slice(steps).map((id, index) => contains(ids[index]!, id))
    for (const steps of [1, 2, 3, 4]) assert.equal((await link(...apart(steps))).status, 204)
    const closing = await link(...apart(4), contains(ids.at(-1)!, ids[0]!), contains(ids[0]!, ids[9]!))
    assert.deepEqual([closing.body.successful.length, closing.body.failed.length], [1, 397])
    assert.match(closing.body.failed.at(-1).reason, /cycle/)
  })

  test('linking many endpoints is rejected if too many relations would have to be checked', async () => {
    const [top, bottom] = (await some(2)) as [string, string]
    await waypost.kit.db.sql`
      insert into register.relations (from_id, to_id, type, tenant_id, created_date)
      select case n when 1001 then ${top} else 'level-' || n end, 'level-' || n - 1, 'contains', 'default', now()
      from generate_series(1, 1001) n`
    await waypost.kit.db.sql`
      insert into register.relations (from_id, to_id, type, tenant_id, created_date)
      values ('level-0', ${bottom}, 'contains', 'default', now())`
    const [member] = (await some(1)) as [string]
    const answer = await link(contains(bottom, member))
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /more than 1000 levels/)
  })
})

suite('linking endpoints', () => {
  test('linking endpoints creates relations that are listed from both ends', async () => {
    const [a, b, c] = (await some(3)).sort() as [string, string, string]
    assert.equal((await link(contains(a, b), contains(a, c))).status, 204)
    assert.deepEqual(await related(a), { totalElements: 2, content: [contains(a, b), contains(a, c)] })
    for (const word of ['is_contained_by', 'IS-CONTAINED-BY', 'isContainedBy'])
      assert.deepEqual(await related(b, word), { totalElements: 1, content: [contains(a, b)] })
    assert.deepEqual(publishedEvents.at(-1)?.payload.linked, [contains(a, b), contains(a, c)])
    const page = await admin(`GET ${root}/endpoints/${a}/relations?relation=contains&offset=1&limit=1`)
    assert.deepEqual(page.body, { totalElements: 2, content: [contains(a, c)] })
    assert.equal((await admin(`GET ${root}/endpoints/${a}/relations`)).status, 400)
    assert.equal((await admin(`GET ${root}/endpoints/${a}/relations?relation=owns`)).status, 400)
    assert.equal((await admin(`GET ${root}/endpoints/nobody/relations?relation=contains`)).status, 404)
  })

  test('linking endpoints reports relations that cannot be created with the reason, and creates the rest', async () => {
    const [a, b, c] = (await some(3)) as [string, string, string]
    await link(contains(a, b))
    const answer = await link(contains(a, b), contains(b, a), contains(c, c), contains(b, c), contains(c, a))
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.body.successful, [contains(b, c)])
    assert.deepEqual(
      answer.body.failed.map(({ from, to, reason }: Record<string, string>) => [from, to, reason?.split(' ').at(-1)]),
      [
        [a, b, 'already'],
        [b, a, 'already'],
        [c, c, 'itself'],
        [c, a, 'already'],
      ],
    )
    assert.match(answer.body.failed[1].reason, /cycle/)
    assert.deepEqual((await related(b)).content, [contains(b, c)])
  })

  test('linking endpoints creates nothing if one endpoint does not exist or the caller may not use it', async () => {
    const [a, b] = (await some(2)) as [string, string]
    const foreign = await anEndpoint((await anApplication(other)).version, {}, other)
    for (const to of ['nobody', foreign]) assert.equal((await link(contains(a, b), contains(a, to))).status, 404)
    assert.equal((await related(a)).totalElements, 0)
    const on = { [`endpoint-${a}`]: ['endpoint:read', 'endpoint:update'], [`endpoint-${b}`]: ['endpoint:read'] }
    const caller = waypost.as(aCaller({ on }))
    assert.equal((await caller(`PUT ${root}/relations/link`, [contains(a, b)])).status, 403)
    assert.equal((await caller(`PUT ${root}/relations/link`, [contains(b, 'nobody')])).status, 404)
  })

  test('linking endpoints rejects invalid input', async () => {
    const bodies: unknown[] = [{}, [{}], [{ type: 'owns', from: 'a', to: 'b' }], [{ type: 'contains', from: 'a' }]]
    for (const body of [...bodies, Array(1001).fill(contains('a', 'b'))])
      for (const word of ['link', 'unlink'])
        assert.equal((await admin(`PUT ${root}/relations/${word}`, body)).status, 400)
    assert.equal((await link()).status, 204)
  })

  test('linking endpoints cannot create a cycle with two concurrent requests', async () => {
    for (let round = 0; round < 5; round++) {
      const [a, b, c] = (await some(3)) as [string, string, string]
      await link(contains(a, b))
      const answers = await Promise.all([link(contains(b, c)), link(contains(c, a))])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 400])
    }
  })

  test('linking endpoints accepts a thousand relations in one request', async () => {
    const parent = await anEndpoint(version)
    const batch = { appVersion: { name: version }, endpoints: Array.from({ length: 1000 }, () => ({})) }
    const { taskId } = (await admin(`POST ${root}/endpoints/batch`, batch)).body
    const created = await eventually(async () => {
      const { body } = await admin(`GET ${root}/endpoints/batch/status?taskId=${taskId}`)
      assert.equal(body.createdCount, 1000)
      return body.created as { endpointId: string }[]
    })
    assert.equal((await link(...created.map(({ endpointId }) => contains(parent, endpointId)))).status, 204)
    const all = await related(parent)
    assert.deepEqual([all.totalElements, all.content.length], [1000, 1000])
    await link(contains(created[0]!.endpointId, await anEndpoint(version)))
    const more = await related(parent)
    assert.equal(more.totalElements, 1000)
  })

  test('lists of relations contain only relations whose other end the caller may read', async () => {
    const [a, b, c] = (await some(3)) as [string, string, string]
    await link(contains(a, b), contains(a, c))
    const caller = waypost.as(
      aCaller({ on: { [`endpoint-${a}`]: ['endpoint:read'], [`endpoint-${c}`]: ['endpoint:read'] } }),
    )
    assert.deepEqual(await related(a, 'contains', caller), { totalElements: 1, content: [contains(a, c)] })
  })
})

suite('unlinking endpoints', () => {
  test('unlinking endpoints removes all given relations or no relation', async () => {
    const [a, b, c] = (await some(3)) as [string, string, string]
    await link(contains(a, b), contains(b, c))
    const answer = await unlink(contains(a, b), contains(a, c))
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, new RegExp(`${a} contains ${c}`))
    assert.equal((await related(a)).totalElements, 1)
    assert.equal((await unlink(contains(a, b))).status, 204)
    assert.equal((await related(a)).totalElements, 0)
    assert.deepEqual(publishedEvents.at(-1)?.payload.unlinked, [contains(a, b)])
    assert.equal((await unlink(contains(a, 'nobody'))).status, 404)
    // The relation a → b no longer exists, so c can contain a without a cycle.
    assert.equal((await link(contains(c, a))).status, 204)
  })
})

suite('relations of a registration', () => {
  const registerWith = (relations: object[], body: object = {}) =>
    admin(`POST ${root}/endpoints`, { appVersion: { name: version }, ...body, relations })

  test('relations of a registration are created in both directions; if all relations are created, the response does not list them', async () => {
    const [above, below] = (await some(2)) as [string, string]
    const answer = await registerWith([
      { type: 'contains', from: above },
      { type: 'contains', to: below },
    ])
    assert.equal(answer.status, 201)
    assert.equal('relations' in answer.body, false)
    const id = answer.body.endpointId
    assert.deepEqual((await related(id)).content, [contains(id, below)])
    assert.deepEqual((await related(id, 'is_contained_by')).content, [contains(above, id)])
  })

  test('relations that cannot be created are reported; the endpoint and its other relations are created', async () => {
    const [a] = (await some(1)) as [string]
    const answer = await registerWith(
      [
        { type: 'contains', from: a },
        { type: 'contains', to: a },
        { type: 'contains', from: a },
        { type: 'contains', to: 'selfish' },
      ],
      { endpointId: 'selfish' },
    )
    assert.equal(answer.status, 201, answer.text)
    assert.deepEqual(answer.body.relations.successful, [contains(a, 'selfish')])
    assert.deepEqual(
      answer.body.relations.failed.map(({ from, to }: Record<string, string>) => [from, to]),
      [
        ['selfish', a],
        [a, 'selfish'],
        ['selfish', 'selfish'],
      ],
    )
  })

  test('a registration fails if a related endpoint does not exist or the caller may not update it', async () => {
    const [a] = (await some(1)) as [string]
    const foreign = await anEndpoint((await anApplication(other)).version, {}, other)
    for (const [index, from] of ['nobody', foreign].entries()) {
      const relations = [
        { type: 'contains', from: a },
        { type: 'contains', from },
      ]
      const answer = await registerWith(relations, { endpointId: `unborn-${index}` })
      assert.equal(answer.status, 404)
      assert.equal((await admin(`GET ${root}/endpoints/unborn-${index}`)).status, 404)
    }
    assert.equal((await related(a)).totalElements, 0)
  })
})
