/**
 * Token buckets: they allow `perSecond` requests on average and `burst` requests at the same time, so that one client cannot slow down
 * other clients.
 */
import { monotonicMs } from './clock.ts'

export interface Rate {
  /** Tokens that are added per second; 0 means no limit. */
  perSecond: number
  burst: number
}

export interface Bucket {
  /** Number of tokens. It is negative if more tokens were drawn than there were. */
  level: number
  /** The time of the last change of `level`, in monotonic milliseconds. */
  updatedAt: number
}

export const newBucket = ({ burst }: Rate): Bucket => ({ level: burst, updatedAt: monotonicMs() })

/**
 * Takes tokens even if the bucket has fewer, and returns the milliseconds until the level is 0 again. It is for work that is done in any
 * case; the caller delays its next work by that time.
 */
export function drawTokens(bucket: Bucket, { perSecond, burst }: Rate, at: number, amount = 1): number {
  if (perSecond === 0) return 0
  const level = bucket.level + ((at - bucket.updatedAt) / 1000) * perSecond
  bucket.level = (level > burst ? burst : level) - amount
  bucket.updatedAt = at
  return bucket.level >= 0 ? 0 : (-bucket.level / perSecond) * 1000
}

/** Puts back tokens that were drawn for work that is not done. */
export function returnTokens(bucket: Bucket, amount = 1) {
  bucket.level += amount
}

export interface RateLimit {
  /** Takes a token and returns 0. Without a token, returns the seconds to wait. */
  take(key: string): number
}

/** Creates a rate limit whose rate differs between keys and may change. The rate is read for each request. */
export function createVariableRateLimit(rateOf: (key: string) => Rate): RateLimit {
  const buckets = new Map<string, Bucket>()
  return {
    take(key) {
      const rate = rateOf(key)
      if (rate.perSecond === 0) return 0
      let bucket = buckets.get(key)
      if (!bucket) {
        bucket = newBucket(rate)
        buckets.set(key, bucket)
      }
      return takeFrom(bucket, rate)
    },
  }
}

/** Takes a token and returns 0. Without a token, returns the seconds to wait. */
function takeFrom(bucket: Bucket, rate: Rate): number {
  if (drawTokens(bucket, rate, monotonicMs()) === 0) return 0
  returnTokens(bucket)
  return Math.ceil((1 - bucket.level) / rate.perSecond) || 1
}

/** Creates a rate limit with one bucket per key. At `keysMax` keys, the oldest bucket is evicted. */
export function createRateLimit(rate: Rate, { keysMax = 20_000 } = {}): RateLimit {
  const { perSecond } = rate
  if (perSecond === 0) return { take: () => 0 }
  const buckets = new Map<string, Bucket>()
  return {
    take(key) {
      let bucket = buckets.get(key)
      if (!bucket) {
        bucket = newBucket(rate)
        buckets.set(key, bucket)
        // The oldest entry is deleted. It is the first, because a Map keeps the order of insertion.
        if (buckets.size > keysMax) buckets.delete(buckets.keys().next().value!)
      }
      return takeFrom(bucket, rate)
    },
  }
}
