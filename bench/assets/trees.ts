/** Measures how long the request for the tree below an asset takes, compared with a plain recursive query over the same relations. */
import type { BenchPlatform } from '../register/bench-platform.ts'
import { type Figure, median } from '../report.ts'
import { expectStatus } from '../software/expect-status.ts'

const nodes = 10_000
const childrenOfNode = 10
/** Number of trees besides the measured tree, so that the tables are larger. */
const otherTrees = 20
const rounds = 30

export async function trees(bench: BenchPlatform): Promise<Figure[]> {
  const { ask, sql } = bench
  await fill(bench)
  const times: Record<'plain' | 'tree' | 'list', number[]> = { plain: [], tree: [], list: [] }
  for (let round = -3; round < rounds; round++) {
    const plain = await timeOf(async () => {
      const rows = await sql.unsafe(plainQuery, ['default', 'tree-0-0'])
      if (rows.length !== nodes - 1) throw new Error(`the plain query finds ${rows.length} relations`)
    })
    const tree = await timeOf(async () => {
      const { children, truncated } = await expectStatus(
        ask,
        200,
        'GET /am/api/v1/relation-trees?entityType=ASSET&entityId=tree-0-0',
      )
      if (truncated || children.length !== childrenOfNode) throw new Error('the tree is not complete')
    })
    const list = await timeOf(() => expectStatus(ask, 200, 'GET /am/api/v1/assets?size=100&search=node%2077'))
    if (round < 0) continue
    times.plain.push(plain)
    times.tree.push(tree)
    times.list.push(list)
  }
  const ratios = times.tree.map((tree, round) => tree / times.plain[round]!)
  return [
    { name: `plain recursive query of ${nodes} nodes`, value: median(times.plain), unit: 'ms' },
    { name: `tree of ${nodes} nodes, by HTTP`, value: median(times.tree), unit: 'ms' },
    { name: '… tree against plain query', value: median(ratios), unit: 'times', limit: { max: 3 } },
    { name: `search among ${nodes * (otherTrees + 1)} assets`, value: median(times.list), unit: 'ms' },
  ]
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Selects the relations of the tree, without names. */
const plainQuery = `
  with recursive tree as (
    select r.type, r.from_id, r.to_type, r.to_id, 1 as level from assets.relations r
    where r.tenant_id = $1 and r.from_type = 'ASSET' and r.from_id = $2
    union all
    select r.type, r.from_id, r.to_type, r.to_id, t.level + 1
    from tree t join assets.relations r on r.tenant_id = $1 and r.from_type = t.to_type and r.from_id = t.to_id)
  select * from tree`

/** Creates trees in which each node has ten children. */
async function fill({ ask, sql }: BenchPlatform) {
  const { id } = await expectStatus(ask, 201, 'POST /am/api/v1/asset-types', {
    displayName: 'Node',
    definitionJsonSchema: '{}',
  })
  await sql.unsafe(
    `insert into assets.assets (asset_id, tenant_id, asset_type_id, definition, name, search_text, created_date, updated_date)
    select 'tree-' || tree || '-' || node, 'default', $1, '{"name":"Node ' || node || '"}', 'Node ' || node, 'node ' || node, now(), now()
    from generate_series(0, $2::int) tree, generate_series(0, $3::int) node`,
    [id, otherTrees, nodes - 1],
  )
  await sql.unsafe(
    `insert into assets.relations (tenant_id, from_type, from_id, to_type, to_id, type, created_date)
    select 'default', 'ASSET', 'tree-' || tree || '-' || (node - 1) / $1::int, 'ASSET', 'tree-' || tree || '-' || node, 'CONTAINS', now()
    from generate_series(0, $2::int) tree, generate_series(1, $3::int) node`,
    [childrenOfNode, otherTrees, nodes - 1],
  )
  await sql.unsafe('analyze assets.assets, assets.relations')
}
