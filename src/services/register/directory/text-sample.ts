/**
 * Takes a sample of the searchable texts of applications. It is used to estimate which n-grams are common and how many endpoints have
 * certain words.
 */
import { createCache } from '../../../kernel/cache.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { gramsOfText } from './document.ts'
import type { Scope } from './query.ts'
import { findTextSample } from './store/candidates.ts'

export interface TextSample {
  texts: string[]
  /** The n-grams of each text. */
  grams: Set<number>[]
  /** Approximate number of all texts. */
  size: number
}
export type TextSampleOf = (scope: Scope) => Promise<TextSample>

const sampleSize = 100
const keptMs = 60_000
/** Maximum number of samples in memory. A sample takes about 30 KB. */
const samplesMax = 200

export function createTextSample(db: Db): TextSampleOf {
  const cache = createCache<TextSample & { until: number }>({
    max: samplesMax,
    isExpired: ({ until }) => until < monotonicMs(),
  })
  return async (scope) => {
    const key = JSON.stringify([scope.tenantId, scope.applicationNames])
    const sample = await cache.read(key, async () => {
      const { texts, size } = await findTextSample(db.sql, scope, sampleSize)
      return { texts, grams: texts.map(gramsOfText), size, until: monotonicMs() + keptMs }
    })
    return sample!
  }
}
