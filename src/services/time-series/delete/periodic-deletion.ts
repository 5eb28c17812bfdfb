/** Deletes expired data and data of deleted endpoints. This task runs on the node that packs. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Deletions } from './deletions.ts'
import type { Retention } from './retention.ts'

const retentionEveryMs = 15 * 60_000
const unregisteredEveryMs = 24 * 3_600_000

/** Returns the task. `check` throws when the process shuts down. */
export function createPeriodicDeletion({ deletions, retention }: { deletions: Deletions; retention: Retention }) {
  let [retentionAt, sweptAt] = [Number.NEGATIVE_INFINITY, monotonicMs()]
  return async (check: () => void) => {
    await deletions.sweep(check)
    if (monotonicMs() - retentionAt > retentionEveryMs) {
      await retention.run(check)
      retentionAt = monotonicMs()
    }
    if (monotonicMs() - sweptAt > unregisteredEveryMs) {
      await deletions.sweepUnregistered(check)
      sweptAt = monotonicMs()
    }
  }
}
