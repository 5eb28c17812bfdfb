/** Sorts samples by time. They are nearly always in order already, so only late ones are sorted. */

/** Returns true if the times increase strictly. */
export function isAscending(times: ArrayLike<number>): boolean {
  for (let index = 1; index < times.length; index++) if (times[index - 1]! >= times[index]!) return false
  return true
}

/** Returns the indexes in time order; undefined if a time occurs twice. */
export function orderOf(times: ArrayLike<number>): Uint32Array | undefined {
  const inTime = new Uint32Array(times.length)
  const late: number[] = []
  let [count, last] = [0, Number.NEGATIVE_INFINITY]
  for (let index = 0; index < times.length; index++) {
    const time = times[index]!
    if (time < last) late.push(index)
    else if (time === last) return undefined
    else {
      inTime[count++] = index
      last = time
    }
  }
  return late.length === 0 ? inTime : mergeLate(times, inTime.subarray(0, count), late)
}

function mergeLate(times: ArrayLike<number>, inTime: Uint32Array, late: number[]): Uint32Array | undefined {
  late.sort((a, b) => times[a]! - times[b]!)
  const order = new Uint32Array(times.length)
  let [next, nextLate, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (let at = 0; at < order.length; at++) {
    const isLate = nextLate < late.length && (next === inTime.length || times[late[nextLate]!]! < times[inTime[next]!]!)
    const source = isLate ? late[nextLate++]! : inTime[next++]!
    if (times[source] === last) return undefined
    last = times[source]!
    order[at] = source
  }
  return order
}

export function reordered(numbers: Float64Array, order: Uint32Array): Float64Array {
  const ordered = new Float64Array(order.length)
  for (let at = 0; at < order.length; at++) ordered[at] = numbers[order[at]!]!
  return ordered
}
