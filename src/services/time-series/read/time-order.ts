/** Samples come as they lie there, which is nearly always in the order of their times. */

/** No time twice. */
export function isAscending(times: ArrayLike<number>): boolean {
  for (let place = 1; place < times.length; place++) if (times[place - 1]! >= times[place]!) return false
  return true
}

/** Their places in the order of the times; undefined where a time occurs twice. Only what came late is sorted. */
export function orderOf(times: ArrayLike<number>): Uint32Array | undefined {
  const inTime = new Uint32Array(times.length)
  const late: number[] = []
  let [count, last] = [0, Number.NEGATIVE_INFINITY]
  for (let place = 0; place < times.length; place++) {
    const time = times[place]!
    if (time < last) late.push(place)
    else if (time === last) return undefined
    else {
      inTime[count++] = place
      last = time
    }
  }
  return late.length === 0 ? inTime : withLate(times, inTime.subarray(0, count), late)
}

function withLate(times: ArrayLike<number>, inTime: Uint32Array, late: number[]): Uint32Array | undefined {
  late.sort((a, b) => times[a]! - times[b]!)
  const order = new Uint32Array(times.length)
  let [next, nextLate, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (let at = 0; at < order.length; at++) {
    const isLate = nextLate < late.length && (next === inTime.length || times[late[nextLate]!]! < times[inTime[next]!]!)
    const place = isLate ? late[nextLate++]! : inTime[next++]!
    if (times[place] === last) return undefined
    last = times[place]!
    order[at] = place
  }
  return order
}

export function inThisOrder(numbers: Float64Array, order: Uint32Array): Float64Array {
  const ordered = new Float64Array(order.length)
  for (let at = 0; at < order.length; at++) ordered[at] = numbers[order[at]!]!
  return ordered
}
