/** What the node that packs also does from time to time: deletes what is gone, and what is too old. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Deletions } from './deletions.ts'
import type { Retention } from './retention.ts'

const retentionEveryMs = 15 * 60_000
const unregisteredEveryMs = 24 * 3_600_000

/** `check` throws when it is time to end. */
export function createUpkeep({ deletions, retention }: { deletions: Deletions; retention: Retention }) {
  let [retainedAt, sweptAt] = [Number.NEGATIVE_INFINITY, monotonicMs()]
  return async (check: () => void) => {
    await deletions.sweep(check)
    if (monotonicMs() - retainedAt > retentionEveryMs) {
      await retention.run(check)
      retainedAt = monotonicMs()
    }
    if (monotonicMs() - sweptAt > unregisteredEveryMs) {
      await deletions.sweepUnregistered(check)
      sweptAt = monotonicMs()
    }
  }
}
