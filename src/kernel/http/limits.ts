/** Token buckets in bounded memory: per credential and per address, so that nobody slows the others. */
import { monotonicMs } from '../clock.ts'

export interface RateLimit {
  /** Seconds to wait, or 0 when the request may pass. */
  take(key: string): number
}

interface Bucket {
  tokens: number
  at: number
}

/** `perSecond` on average, `burst` at once; 0 per second switches the limit off. */
export function createRateLimit({
  perSecond,
  burst,
  keysMax = 20_000,
}: {
  perSecond: number
  burst: number
  keysMax?: number
}): RateLimit {
  if (perSecond === 0) return { take: () => 0 }
  const buckets = new Map<string, Bucket>()
  return {
    take(key) {
      const at = monotonicMs()
      let bucket = buckets.get(key)
      if (!bucket) {
        bucket = { tokens: burst, at }
        buckets.set(key, bucket)
        // The oldest entry goes: a Map keeps the order of insertion.
        if (buckets.size > keysMax) buckets.delete(buckets.keys().next().value!)
      }
      bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) / 1000) * perSecond)
      bucket.at = at
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond) || 1
      bucket.tokens--
      return 0
    },
  }
}
