/** One timer for the deadlines of many items, because a timer of its own for each of ten thousand waiting callers takes memory. */
import { monotonicMs } from './clock.ts'

/** An item with a deadline. Each item belongs to at most one collection. */
export interface Due {
  /** The deadline, in monotonic milliseconds (clock.ts). */
  dueAt: number
  /** Place in the heap; -1 if the item is in no collection. Only the collection changes it. */
  place: number
}

export interface Deadlines<T extends Due> {
  /** `due` is called once `dueAt` has passed, unless the item is removed before. */
  add(item: T): void
  remove(item: T): void
  readonly size: number
}

/** The longest time that a timer of Node.js accepts. */
const timerMsMax = 2 ** 31 - 1

export function createDeadlines<T extends Due>(due: (item: T) => void): Deadlines<T> {
  /** A binary heap: no item is due before its parent, which is at the place `(place - 1) >> 1`. */
  const heap: T[] = []
  let timer: NodeJS.Timeout | undefined
  let timerAt = Number.POSITIVE_INFINITY

  const put = (item: T, place: number) => {
    heap[place] = item
    item.place = place
  }

  function rise(item: T, from: number) {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (heap[parent]!.dueAt <= item.dueAt) break
      put(heap[parent]!, place)
      place = parent
    }
    put(item, place)
  }

  function sink(item: T, from: number) {
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.dueAt < heap[child]!.dueAt) child++
      if (heap[child]!.dueAt >= item.dueAt) break
      put(heap[child]!, place)
      place = child
    }
    put(item, place)
  }

  /**
   * The timer is replaced only for an earlier deadline. If the first item is removed, the timer expires with nothing due, which costs less
   * than a new timer.
   */
  function startTimer() {
    const first = heap[0]
    if (!first) {
      clearTimeout(timer)
      timer = undefined
      timerAt = Number.POSITIVE_INFINITY
    } else if (first.dueAt < timerAt) {
      clearTimeout(timer)
      timerAt = first.dueAt
      timer = setTimeout(timeIsUp, Math.min(timerMsMax, Math.max(1, Math.ceil(timerAt - monotonicMs()))))
    }
  }

  function timeIsUp() {
    timerAt = Number.POSITIVE_INFINITY
    const now = monotonicMs()
    try {
      for (let first = heap[0]; first && first.dueAt <= now; first = heap[0]) {
        remove(first)
        due(first)
      }
    } finally {
      startTimer()
    }
  }

  function remove(item: T) {
    const { place } = item
    if (place < 0) return
    item.place = -1
    const last = heap.pop()!
    if (last === item) return
    if (last.dueAt < item.dueAt) rise(last, place)
    else sink(last, place)
  }

  return {
    add(item) {
      rise(item, heap.length)
      startTimer()
    },
    remove(item) {
      remove(item)
      if (heap.length === 0) startTimer()
    },
    get size() {
      return heap.length
    },
  }
}
