/** Who contains whom, as far as it lies above some endpoints: a circle is found before it is closed. Pure. */
export interface Ancestry {
  /** Whether the one contains the other, directly or not. */
  contains(above: string, below: string): boolean
  add(relation: { from: string; to: string }): void
}

export function createAncestry(relations: Iterable<{ from: string; to: string }>): Ancestry {
  const containers = new Map<string, Set<string>>()
  const containing = new Set<string>()

  function add({ from, to }: { from: string; to: string }) {
    const known = containers.get(to)
    if (known) known.add(from)
    else containers.set(to, new Set([from]))
    containing.add(from)
  }
  for (const relation of relations) add(relation)

  return {
    add,
    contains(above, below) {
      // Most new members contain nothing yet.
      if (!containing.has(above)) return false
      const seen = new Set([below])
      for (const id of seen)
        for (const container of containers.get(id) ?? []) {
          if (container === above) return true
          seen.add(container)
        }
      return false
    },
  }
}
