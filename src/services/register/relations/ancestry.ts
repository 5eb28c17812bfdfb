/** Keeps in memory the relations by which some endpoints are contained in others, to detect cycles before new relations are stored. */
export interface Ancestry {
  /** Returns whether `above` contains `below`, directly or indirectly. */
  contains(above: string, below: string): boolean
  add(relation: { from: string; to: string }): void
}

export function createAncestry(relations: Iterable<{ from: string; to: string }>): Ancestry {
  const containers = new Map<string, Set<string>>()
  const containing = new Set<string>()

  function add({ from, to }: { from: string; to: string }) {
    const existing = containers.get(to)
    if (existing) existing.add(from)
    else containers.set(to, new Set([from]))
    containing.add(from)
  }
  for (const relation of relations) add(relation)

  return {
    add,
    contains(above, below) {
      // A fast path: most new endpoints contain nothing.
      if (!containing.has(above)) return false
      const visited = new Set([below])
      for (const id of visited)
        for (const container of containers.get(id) ?? []) {
          if (container === above) return true
          visited.add(container)
        }
      return false
    },
  }
}
