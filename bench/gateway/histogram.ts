/**
 * Number of buckets for each doubling of the value, so that a bucket is at most 3 % wide. The values are microseconds. Counting a value
 * costs much less than a system call.
 */
const stepsOfDoubling = 32
const doublings = 32

export interface Histogram {
  add(microseconds: number): void
  /** Returns the upper end of the bucket that contains the quantile, in milliseconds. */
  quantileMs(share: number): number
  clear(): void
}

export function createHistogram(): Histogram {
  const counts = new Uint32Array(stepsOfDoubling * doublings)
  let total = 0
  return {
    add(microseconds) {
      counts[indexOf(microseconds)]!++
      total++
    },
    quantileMs(share) {
      const rank = Math.ceil(total * share)
      let seen = 0
      for (let index = 0; index < counts.length; index++) {
        seen += counts[index]!
        if (seen >= rank && seen > 0) return upperEnd(index) / 1000
      }
      return 0
    },
    clear() {
      counts.fill(0)
      total = 0
    },
  }
}

function indexOf(value: number): number {
  const whole = Math.max(0, Math.min(0x7fffffff, value | 0))
  if (whole < stepsOfDoubling) return whole
  const shift = 31 - Math.clz32(whole) - 5
  return (shift + 1) * stepsOfDoubling + ((whole >> shift) & (stepsOfDoubling - 1))
}

function upperEnd(index: number): number {
  const shift = Math.floor(index / stepsOfDoubling) - 1
  const step = index % stepsOfDoubling
  return shift < 0 ? step + 1 : (stepsOfDoubling + step + 1) * 2 ** shift
}
