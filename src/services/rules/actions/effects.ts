/** Prevents an action from taking effect twice if an event runs again, for example because the node that ran it died. */
import { createHash } from 'node:crypto'
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Db } from '../../../kernel/db.ts'
import * as store from '../deliveries/store.ts'
import type { ActionRun } from './executor.ts'

export interface Effects {
  /** Runs `work` unless it has already succeeded for this key. Returns whether it ran. */
  once(key: string, work: () => Promise<void>): Promise<boolean>
}

/**
 * The keys of effects are kept for this time. The events of a dead node run again within seconds. Users may retry a dead letter much later;
 * within this time, such a retry causes no effect twice.
 */
const keptSeconds = 3600
const batchMax = 5000

/**
 * Returns the key of an action's effect on an endpoint. The id of a run is derived from its event, so a repeated event gives the same key.
 */
export function effectKey({ run }: Pick<ActionRun, 'run'>, endpointId: string): string {
  const hex = createHash('sha256').update(`${run.id} ${endpointId}`).digest('hex')
  // The result is a UUID of version 8, whose content the application defines.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export function createEffects({ sql }: Pick<Db, 'sql'>): Effects {
  const isKnown = createBatcher(async (keys: string[]) => {
    const known = await store.findEffects(sql, keys)
    return keys.map((key) => known.has(key))
  }, 500)
  const record = createBatcher(async (keys: string[]) => {
    await store.insertEffects(sql, keys)
    return keys
  }, 500)
  return {
    async once(key, work) {
      if (await isKnown(key)) return false
      await work()
      await record(key)
      return true
    },
  }
}

/** Returns the periodic task that deletes keys of events that will not run again. */
export const deleteOldEffects = ({ sql }: Pick<Db, 'sql'>) => ({
  name: 'rules.effects',
  everySeconds: 60,
  async run() {
    while ((await store.deleteOldEffects(sql, keptSeconds, batchMax)) === batchMax);
  },
})
