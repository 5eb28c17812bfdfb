/**
 * Finds a page of records of a few endpoints. The blocks have counts of records for each endpoint, so that only blocks with records of the
 * page are decoded.
 */
import { type BlockOfEndpoints, findBlocksOfEndpoints, findUncounted, loadBlocks } from '../store/units.ts'
import type { Page, PageRequest } from './page.ts'
import { type Found, inOrder, loadRecords, matchesIn, type Search } from './stream.ts'

export async function findByEndpoint(search: Search, { offset, limit }: PageRequest): Promise<Page> {
  const { sql, query } = search
  const { span, tenantId, endpointIds } = query.filter
  const numbers = [...query.numbers].filter(([, id]) => endpointIds!.has(id)).map(([number]) => number)
  const [blocks, batches] = await Promise.all([
    numbers.length === 0 ? [] : findBlocksOfEndpoints(sql, query, numbers),
    findUncounted(sql, query, { blocks: 'none' }),
  ])
  const isInside = ({ firstAt, lastAt }: BlockOfEndpoints) => firstAt >= span.from && lastAt < span.to
  const edges = await loadBlocks(
    sql,
    tenantId,
    blocks.filter((block) => !isInside(block)),
  )
  const units = [...edges, ...batches]
  const inUnits = units.reduce((sum, unit) => sum + matchesIn(query, unit).length, 0)
  const whole = blocks.filter(isInside)
  const total = whole.reduce((sum, { n }) => sum + n, inUnits)
  const needed = neededBlocks(whole, offset - inUnits, offset + limit)
  const loaded = [...units, ...(await loadBlocks(sql, tenantId, needed.blocks))]
  const { descending } = query
  loaded.sort((a, b) => (descending ? b.lastAt - a.lastAt : a.firstAt - b.firstAt))
  const records: Found[] = []
  for await (const portion of inOrder(search, loaded)) records.push(...portion)
  const start = offset - needed.passed
  return { total, records: await loadRecords(search, records.slice(start, start + limit)) }
}

/**
 * Returns the blocks that can contain records of the page. Blocks at the start are skipped if all their records come before the page and
 * they do not overlap a later block.
 */
function neededBlocks(blocks: BlockOfEndpoints[], offset: number, pageEnd: number) {
  let [passed, first, seen, last] = [0, 0, 0, 0]
  const loaded = { firstAt: Number.POSITIVE_INFINITY, lastAt: Number.NEGATIVE_INFINITY }
  // Further blocks that overlap the loaded blocks may contain records of the page too.
  while (last < blocks.length && (seen < pageEnd || overlaps(blocks[last]!, loaded))) {
    const { n, firstAt, lastAt } = blocks[last++]!
    seen += n
    loaded.firstAt = Math.min(loaded.firstAt, firstAt)
    loaded.lastAt = Math.max(loaded.lastAt, lastAt)
  }
  while (first < last - 1 && passed + blocks[first]!.n <= offset && !overlaps(blocks[first + 1]!, blocks[first]!))
    passed += blocks[first++]!.n
  return { blocks: blocks.slice(first, last), passed }
}

type Times = Pick<BlockOfEndpoints, 'firstAt' | 'lastAt'>
const overlaps = (a: Times, b: Times) => a.lastAt >= b.firstAt && a.firstAt <= b.lastAt
