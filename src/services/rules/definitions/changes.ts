/** Reports changes of definitions to all nodes, so that each node updates the definitions in its memory within a second. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { PeriodicTask } from '../../../kernel/periodic.ts'
import { DefinitionsChanged } from '../events.ts'
import * as store from './store/revisions.ts'

/** Called on every node after a change. If the tenant is undefined, any tenant may have changed. */
export type ChangeListener = (tenantId: string | undefined) => void

export interface Changes {
  /**
   * Records in the transaction of a change that these definitions have changed or were deleted. Call it last in the transaction: it locks a
   * row of the tenant, and other changes of the tenant wait for this lock.
   */
  record(sql: Sql, tenantId: string, ids: string[]): Promise<void>
  onChange(listener: ChangeListener): void
  periodic: PeriodicTask[]
}

const keepSeconds = 3600

export function createChanges(kit: Pick<Kit, 'bus' | 'signals'>): Changes {
  const { bus } = kit
  const listeners: ChangeListener[] = []
  const call = (tenantId: string | undefined) => {
    for (const listener of listeners) listener(tenantId)
  }
  bus.subscribe(DefinitionsChanged, ({ tenantId }) => call(tenantId))
  bus.onReset(() => call(undefined))
  declareCheck(kit, call)
  return {
    async record(sql, tenantId, ids) {
      const revision = await store.increaseRevision(sql, tenantId, ids)
      await bus.publish(sql, DefinitionsChanged, { tenantId, revision })
    },
    onChange: (listener) => void listeners.push(listener),
    periodic: [
      { name: 'rules.delete-changes', everySeconds: 300, run: (sql) => store.deleteOldChanges(sql, keepSeconds) },
    ],
  }
}

/** Looks up repeatedly which tenants have changed definitions, in case a signal was lost. */
function declareCheck({ signals }: Pick<Kit, 'signals'>, call: ChangeListener) {
  let since: string | undefined
  signals.declareCheck({
    name: 'definitions of rules',
    expression: (sql) => store.changedTenants(sql, since),
    handle(value) {
      const { next, tenantIds } = value as store.ChangedTenants
      const isFirst = since === undefined
      since = next
      // Before its first check, the node may have missed changes by other nodes.
      if (isFirst) call(undefined)
      else for (const tenantId of tenantIds) call(tenantId)
    },
  })
}
