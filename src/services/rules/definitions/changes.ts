/** Reports changes of definitions to all nodes, so that each node updates the definitions in its memory within a second. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { PeriodicTask } from '../../../kernel/periodic.ts'
import { DefinitionsChanged } from '../events.ts'
import { readingRevisionsFailed } from '../log-messages.ts'
import * as store from './store/revisions.ts'

/** Called on every node after a change. If the tenant is undefined, any tenant may have changed. */
export type ChangeListener = (tenantId: string | undefined) => void

export interface Changes {
  /**
   * Records in the transaction of a change that these definitions have changed or were deleted. Call it last, because it locks a row of the
   * tenant.
   */
  record(sql: Sql, tenantId: string, ids: string[]): Promise<void>
  onChange(listener: ChangeListener): void
  periodic: PeriodicTask[]
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Interval at which a node checks for changes even without a signal. A lost signal therefore delays a change by at most this time (document
 * 5, 1.9).
 */
const checkEveryMs = 1000
const keepSeconds = 3600

export function createChanges(kit: Pick<Kit, 'db' | 'bus' | 'members' | 'log'>): Changes {
  const { bus } = kit
  const listeners: ChangeListener[] = []
  const call = (tenantId: string | undefined) => {
    for (const listener of listeners) listener(tenantId)
  }
  bus.subscribe(DefinitionsChanged, ({ tenantId }) => call(tenantId))
  bus.onReset(() => call(undefined))
  const checks = createChecks(kit, call)
  return {
    async record(sql, tenantId, ids) {
      const revision = await store.increaseRevision(sql, tenantId, ids)
      await bus.publish(sql, DefinitionsChanged, { tenantId, revision })
    },
    onChange: (listener) => void listeners.push(listener),
    periodic: [
      { name: 'rules.delete-changes', everySeconds: 300, run: (sql) => store.deleteOldChanges(sql, keepSeconds) },
    ],
    ...checks,
  }
}

/** Reads every second which tenants have changed, in case a signal was lost. A node that is alone gets no signals and needs no check. */
function createChecks({ db, members, log }: Pick<Kit, 'db' | 'members' | 'log'>, call: ChangeListener) {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let since: string | undefined
  let isStopped = true

  async function check() {
    if (members.isAlone()) {
      since = undefined
      return
    }
    const { next, tenantIds } = await store.findChangedTenants(db.sql, since)
    const isFirst = since === undefined
    since = next
    // Before its first check, the node may have missed changes by other nodes.
    if (isFirst) call(undefined)
    else for (const tenantId of tenantIds) call(tenantId)
  }

  function schedule() {
    if (isStopped) return
    timer = setTimeout(() => {
      running = check()
        .catch((error) => readingRevisionsFailed(log, { err: error }))
        .finally(schedule)
    }, checkEveryMs).unref()
  }

  return {
    async start() {
      isStopped = false
      schedule()
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
