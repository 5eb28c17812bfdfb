/** A binary heap: the item with the smallest time comes first. */
export interface TimeHeap<T> {
  push(time: number, item: T): void
  /** Removes and returns the first item if its time is not after `until`. */
  popUntil(until: number): { time: number; item: T } | undefined
  readonly first: number | undefined
  readonly size: number
  clear(): void
}

export function createTimeHeap<T>(): TimeHeap<T> {
  const nodes: { time: number; item: T }[] = []
  const swap = (a: number, b: number) => {
    const node = nodes[a]!
    nodes[a] = nodes[b]!
    nodes[b] = node
  }

  function sinkFirst() {
    for (let at = 0; ; ) {
      let smallest = at
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < nodes.length && nodes[child]!.time < nodes[smallest]!.time) smallest = child
      if (smallest === at) return
      swap(at, smallest)
      at = smallest
    }
  }

  return {
    push(time, item) {
      nodes.push({ time, item })
      for (let at = nodes.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1
        if (nodes[parent]!.time <= nodes[at]!.time) return
        swap(at, parent)
        at = parent
      }
    },
    popUntil(until) {
      const [first] = nodes
      if (!first || first.time > until) return undefined
      const last = nodes.pop()!
      if (nodes.length > 0) {
        nodes[0] = last
        sinkFirst()
      }
      return first
    },
    get first() {
      return nodes[0]?.time
    },
    get size() {
      return nodes.length
    },
    clear() {
      nodes.length = 0
    },
  }
}
