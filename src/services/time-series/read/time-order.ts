/** Sorts samples by time. Most samples are already in order, so only samples that are earlier than a previous sample are sorted. */

/** Returns true if the times increase strictly. */
export function isAscending(times: ArrayLike<number>): boolean {
  for (let index = 1; index < times.length; index++) if (times[index - 1]! >= times[index]!) return false
  return true
}

/** Returns the indexes in time order, or undefined if a time occurs twice. */
export function orderOf(times: ArrayLike<number>): Uint32Array | undefined {
  const inOrder = new Uint32Array(times.length)
  const late: number[] = []
  let [count, last] = [0, Number.NEGATIVE_INFINITY]
  for (let index = 0; index < times.length; index++) {
    const time = times[index]!
    if (time < last) late.push(index)
    else if (time === last) return undefined
    else {
      inOrder[count++] = index
      last = time
    }
  }
  return late.length === 0 ? inOrder : mergeLate(times, inOrder.subarray(0, count), late)
}

function mergeLate(times: ArrayLike<number>, inOrder: Uint32Array, late: number[]): Uint32Array | undefined {
  late.sort((a, b) => times[a]! - times[b]!)
  const order = new Uint32Array(times.length)
  let [next, nextLate, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (let position = 0; position < order.length; position++) {
    const isLate =
      nextLate < late.length && (next === inOrder.length || times[late[nextLate]!]! < times[inOrder[next]!]!)
    const source = isLate ? late[nextLate++]! : inOrder[next++]!
    if (times[source] === last) return undefined
    last = times[source]!
    order[position] = source
  }
  return order
}

export function reorder(numbers: Float64Array, order: Uint32Array): Float64Array {
  const ordered = new Float64Array(order.length)
  for (let position = 0; position < order.length; position++) ordered[position] = numbers[order[position]!]!
  return ordered
}
