import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { am, type EntityName, entity, openAssets, relation } from '../../../test/harness/assets.ts'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'

const { waypost, admin, other, expect, anAsset, anEndpointEntity, link, treeOf } = await openAssets()
const { sql } = waypost.kit.db

interface Tree {
  relationType?: string
  entityType: string
  entityId: string
  name?: string
  truncated?: boolean
  children: Tree[]
}

const sizeOf = ({ children }: Tree): number => children.reduce((sum, child) => sum + sizeOf(child), 1)
const depthOf = ({ children }: Tree): number => Math.max(0, ...children.map((child) => 1 + depthOf(child)))

/** Inserts an asset for each number in `edges`, and the relations between the assets. Returns asset 0. */
async function insertTree(prefix: string, edges: [from: number, to: number][]): Promise<EntityName> {
  const { body } = await expect(201, `POST ${am}/asset-types`, { displayName: prefix, definitionJsonSchema: '{}' })
  const ids = [...new Set([0, ...edges.flat()])]
  await sql`
    insert into assets.assets (asset_id, tenant_id, asset_type_id, definition, name, search_text, created_date, updated_date)
    select ${prefix} || n, 'default', ${body.id}, '{}', 'n' || n, '', now(), now() from unnest(${ids.map(String)}::text[]) n`
  await sql`
    insert into assets.relations (tenant_id, from_type, from_id, to_type, to_id, type, created_date)
    select 'default', 'ASSET', ${prefix} || f, 'ASSET', ${prefix} || t, 'CONTAINS', now()
    from unnest(${edges.map(([from]) => String(from))}::text[], ${edges.map(([, to]) => String(to))}::text[]) as e(f, t)`
  return `ASSET ${prefix}0`
}

suite('a tree of relations', () => {
  test('a tree of relations has everything below an entity, with names, sorted by kind and id', async () => {
    const [site, room, gateway, sensor, plain] = [
      await anAsset({ definition: { name: 'Site' } }),
      await anAsset({ definition: { name: 7 } }),
      await anEndpointEntity({ name: 'Gateway' }),
      await anEndpointEntity({ name: { text: 'x' } }),
      await anAsset({ definition: { name: 'x'.repeat(300) } }),
    ]
    await link(
      relation('CONTAINS', site, room),
      relation('CONTAINS', room, gateway),
      relation('CONTAINS', gateway, sensor),
      relation('MANAGES', gateway, sensor),
      relation('MANAGES', gateway, plain),
    )
    const node = (relationType: string, name: EntityName, children: unknown[] = [], more = {}) => ({
      relationType,
      ...entity(name),
      ...more,
      children,
    })
    assert.deepEqual(await treeOf(site), {
      ...entity(site),
      name: 'Site',
      children: [
        node('CONTAINS', room, [
          node('CONTAINS', gateway, [node('MANAGES', plain), node('CONTAINS', sensor), node('MANAGES', sensor)], {
            name: 'Gateway',
          }),
        ]),
      ],
    })
    assert.deepEqual(await treeOf(sensor), { ...entity(sensor), children: [] })
    const { entityId } = entity(gateway)
    const lower = await expect(200, `GET ${am}/relation-trees?entityType=endpoint&entityId=${entityId}`)
    assert.deepEqual([lower.body.entityType, lower.body.name, lower.body.children.length], ['ENDPOINT', 'Gateway', 3])
  })

  test('a tree of relations leaves out nodes that the caller may not read, with everything below them', async () => {
    const [site, room, hidden, below, gateway, secret] = [
      await anAsset(),
      await anAsset(),
      await anAsset(),
      await anAsset(),
      await anEndpointEntity(),
      await anEndpointEntity(),
    ]
    await link(
      ...[room, hidden, gateway, secret].map((to) => relation('CONTAINS', site, to)),
      relation('CONTAINS', hidden, below),
      relation('CONTAINS', secret, below),
      relation('CONTAINS', gateway, secret),
    )
    const on = Object.fromEntries([
      ...[site, room, below].map((name) => [`asset-${entity(name).entityId}`, ['asset:read']]),
      [`endpoint-${entity(gateway).entityId}`, ['endpoint:read']],
    ])
    const tree: Tree = await treeOf(site, waypost.as(aCaller({ on })))
    assert.deepEqual(
      tree.children.map(({ entityId, children }) => [entityId, children.length]).toSorted(),
      [room, gateway].map((name) => [entity(name).entityId, 0]).toSorted(),
    )
    assert.equal(sizeOf(await treeOf(site)), 9)
    const url = `GET ${am}/relation-trees?entityType=ASSET&entityId=${entity(site).entityId}`
    await expect(404, url, undefined, other)
    await expect(
      404,
      url,
      undefined,
      waypost.as(aCaller({ on: { [`asset-${entity(room).entityId}`]: ['asset:read'] } })),
    )
  })

  test('an entity that an entity below it manages appears a second time in the tree, without children', async () => {
    const [a, b] = [await anAsset(), await anEndpointEntity()]
    await link(relation('MANAGES', a, b), relation('MANAGES', b, a))
    const tree: Tree = await treeOf(a)
    assert.equal(sizeOf(tree), 3)
    assert.deepEqual(tree.children[0]!.children[0], { relationType: 'MANAGES', ...entity(a), children: [] })
    assert.equal(tree.truncated, undefined)
  })

  test('a tree of relations has at most 32 levels below its root', async () => {
    const chain = (length: number) => Array.from({ length }, (_, n): [number, number] => [n, n + 1])
    const whole: Tree = await treeOf(await insertTree('short-', chain(32)))
    assert.deepEqual([depthOf(whole), whole.truncated], [32, undefined])
    const cut: Tree = await treeOf(await insertTree('long-', chain(40)))
    assert.deepEqual([depthOf(cut), sizeOf(cut), cut.truncated], [32, 33, true])
  })

  test('a tree of relations has at most 10,000 nodes; the nodes of the upper levels are included first', async () => {
    const star = (children: number) => Array.from({ length: children }, (_, n): [number, number] => [0, n + 1])
    const whole: Tree = await treeOf(await insertTree('star-', star(9999)))
    assert.deepEqual([sizeOf(whole), whole.truncated], [10_000, undefined])
    const cut: Tree = await treeOf(await insertTree('wide-', [...star(10_000), [1, 20_000]]))
    assert.deepEqual([sizeOf(cut), depthOf(cut), cut.truncated], [10_000, 1, true])
  })

  test('a tree with 2^32 paths between few entities is also truncated', async () => {
    // Each level has two entities, and each entity contains both entities of the next level. There are 2^32 paths.
    const edges = Array.from({ length: 32 }, (_, level) =>
      [2 * level - 1, 2 * level].flatMap((from) =>
        [2 * level + 1, 2 * level + 2].map((to): [number, number] => [Math.max(0, from), to]),
      ),
    ).flat()
    const unique = [...new Map(edges.map((edge) => [String(edge), edge])).values()]
    const tree: Tree = await treeOf(await insertTree('ladder-', unique))
    assert.deepEqual([sizeOf(tree), tree.truncated], [10_000, true])
  })

  test('too many simultaneous requests for trees get 429, while a search of another tenant gets 200', async () => {
    const root = await insertTree('busy-', [[0, 1]])
    const url = `GET ${am}/relation-trees?entityType=ASSET&entityId=${entity(root).entityId}`
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holder = waypost.kit.db.tx(async (tx) => {
      await tx`lock table assets.relations in access exclusive mode`
      locked.resolve()
      await release.promise
    })
    await locked.promise
    // Two requests are processed, 50 requests wait, and 18 requests are rejected.
    const answering = Array.from({ length: 70 }, () => admin(url))
    let refused = 0
    for (const answer of answering) void answer.then(({ status }) => (refused += status === 429 ? 1 : 0))
    await eventually(() => assert.equal(refused, 18))
    const theirs = other(`GET ${am}/assets?search=x`)
    release.resolve()
    await holder
    const statuses = (await Promise.all(answering)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 52)
    assert.equal((await theirs).status, 200)
  })
})
