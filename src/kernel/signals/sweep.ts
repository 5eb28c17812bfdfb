/** Sends stored messages whose node died or could not send them. The sweep also handles messages that are addressed to this node. */
import type { Db } from '../db.ts'
import type { Log } from '../log.ts'
import type { Handlers } from './handlers.ts'
import { removingHandledFailed, sweepFailed } from './log-messages.ts'
import type { Relay } from './relay.ts'
import { claimLimit, claimStale, removeSignal } from './rows.ts'
import { isAny, isFor } from './transport.ts'

export interface Sweeper {
  /** Runs a sweep. A call during a sweep causes one more sweep. Never rejects. */
  run(): Promise<void>
  /** Prevents further sweeps. Resolves when no sweep is running. */
  stop(): Promise<void>
}

interface Deps {
  db: Db
  nodeId: string
  handlers: Handlers
  relay: Relay
  log: Log
}

export function createSweeper(deps: Deps): Sweeper {
  let running: Promise<void> | undefined
  let [isRequested, stopped] = [false, false]

  async function sweep() {
    do {
      isRequested = false
      await sendStale(deps)
    } while (isRequested && !stopped)
  }

  return {
    async run() {
      if (stopped) return
      isRequested = true
      running ??= sweep()
        .catch((error) => sweepFailed(deps.log, { err: error }))
        .finally(() => {
          running = undefined
        })
      await running
    },
    async stop() {
      stopped = true
      await running
    },
  }
}

async function sendStale(deps: Deps) {
  const { db, nodeId, handlers, relay } = deps
  for (;;) {
    const rows = await claimStale(db.sql, nodeId, relay.pendingRows())
    for (const { id, address, topic, payload } of rows.toSorted((a, b) => a.id - b.id)) {
      const isHere = isAny(address) || isFor(address, nodeId)
      const handled = isHere ? handlers.dispatch(topic, JSON.parse(payload), nodeId) : undefined
      if (isAny(address)) removeWhenHandled(deps, id, handled!)
      else relay.add({ address, topic, payload, rowId: id })
    }
    if (rows.length < claimLimit) return
  }
}

export const removeWhenHandled = ({ db, log }: Pick<Deps, 'db' | 'log'>, rowId: number, handled: Promise<unknown>) =>
  void handled
    .then(() => removeSignal(db.sql, rowId))
    .catch((error) => removingHandledFailed(log, { err: error, rowId }))
