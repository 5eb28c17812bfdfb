/** Returns trees of relations, downwards from an entity (document 5, 6.4). */
import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { NoEntity } from '../errors.ts'
import type { RelatedEntity } from '../events.ts'
import type { EntityType, RelationType } from '../store/relations.ts'
import { containmentKey } from '../store/relations.ts'
import { findChildren, findName, type TreeEdge } from '../store/trees.ts'
import { visibilityOf } from './access.ts'
import { findReadable, type ListDeps } from './relation-lists.ts'

export interface Tree {
  relationType?: RelationType
  entityType: EntityType
  entityId: string
  name?: string
  /** True on the root if the tree has more nodes or levels than the limits allow. */
  truncated?: true
  children: Tree[]
}

export interface TreeOperations {
  tree(ctx: Ctx, root: RelatedEntity): Promise<Tree>
}

/** Maximum number of levels below the root. */
export const levelsMax = 32
/** Maximum number of nodes in a tree, including the root. */
export const nodesMax = 10_000

/** A node whose children are not read yet, with the path to the root. */
interface Leaf {
  key: string
  node: Tree
  parent: Leaf | undefined
}

export function createTreeOperations(deps: ListDeps, scans: ConcurrencyLimit): TreeOperations {
  return {
    tree: (ctx, root) => scans.run(ctx.tenantId, () => readTree(deps, ctx, root), ctx),
  }
}

async function readTree(deps: ListDeps, ctx: Ctx, { entityType, entityId }: RelatedEntity): Promise<Tree> {
  const [found] = await findReadable(deps, ctx, [entityId], entityType)
  if (!found) throw NoEntity({ entityType, entityId })
  const name = await findName(deps.db.sql, deps.register.containments, found)
  const root: Tree = { entityType, entityId, ...(name !== null && { name }), children: [] }
  if (await grow(childrenReader(deps, ctx, found.tenantId), root)) root.truncated = true
  return root
}

/** Adds the levels below the root, one after the other. Returns whether a limit was reached. */
async function grow(childrenOf: ChildrenReader, root: Tree): Promise<boolean> {
  let leaves: Leaf[] = [{ key: keyOf(root), node: root, parent: undefined }]
  let nodes = 1
  for (let level = 1; leaves.length > 0; level++) {
    // One edge more than the tree may contain is read, because a tree with exactly the maximum is not truncated.
    const edges = await childrenOf(leaves, nodesMax - nodes + 1)
    const next: Leaf[] = []
    for (const leaf of leaves)
      for (const { relationType, entityType, entityId, name } of edges(leaf.key)) {
        if (level > levelsMax || nodes === nodesMax) return true
        const node: Tree = { relationType, entityType, entityId, ...(name !== null && { name }), children: [] }
        leaf.node.children.push(node)
        nodes++
        const child = { key: keyOf(node), node, parent: leaf }
        // MANAGES may lead back to an entity above. The tree contains this entity once more, without its children.
        if (!isAbove(child.key, leaf)) next.push(child)
      }
    leaves = next
  }
  return false
}

const keyOf = ({ entityType, entityId }: RelatedEntity) => containmentKey(entityType, entityId)

function isAbove(key: string, leaf: Leaf): boolean {
  for (let above: Leaf | undefined = leaf; above; above = above.parent) if (above.key === key) return true
  return false
}

type ChildrenReader = (leaves: Leaf[], limit: number) => Promise<(key: string) => TreeEdge[]>

/** Reads the children of each entity once, even if it occurs several times in the tree. */
function childrenReader({ db, register }: ListDeps, ctx: Ctx, tenantId: string): ChildrenReader {
  const visibility = visibilityOf(ctx, tenantId)
  const known = new Map<string, TreeEdge[]>()
  return async (leaves, limit) => {
    const parents: Tree[] = []
    const lists: TreeEdge[][] = []
    for (const { key, node } of leaves) {
      if (known.has(key)) continue
      const list: TreeEdge[] = []
      known.set(key, list)
      parents.push(node)
      lists.push(list)
    }
    if (parents.length > 0) {
      const edges = await findChildren(db.sql, register.containments, { tenantId, parents, visibility, limit })
      for (const edge of edges) lists[edge.parent]!.push(edge)
    }
    return (key) => known.get(key) ?? []
  }
}
