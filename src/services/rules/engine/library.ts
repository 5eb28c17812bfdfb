/**
 * Keeps the rules, actions and triggers of all tenants in memory, and updates them after changes on any node. While the definitions of a
 * tenant are being read, all its events are stored, because any event may match.
 */
import type { EventOrigin } from '../../../kernel/bus.ts'
import { sleep } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Changes } from '../definitions/changes.ts'
import {
  type Definitions,
  findTenantsWithRules,
  type LinkedRule,
  loadChanges,
  loadDefinitions,
} from '../definitions/store/load.ts'
import { loadingRulesFailed } from '../log-messages.ts'
import type { ActionDefinition, TriggerDefinition, TriggerType } from '../model.ts'
import { createTriggerIndex, type TriggerIndex } from './trigger-index.ts'

export interface Library {
  rule(tenantId: string, ruleId: string): LinkedRule | undefined
  action(tenantId: string, actionId: string): ActionDefinition | undefined
  index: Pick<TriggerIndex, 'match' | 'get' | 'ofType'>
  /**
   * Returns whether events of this origin must be stored. They must be stored if a trigger may match them or the definitions are being
   * read.
   */
  wants(type: TriggerType, origin: EventOrigin): boolean
  /** Resolves when the definitions of a tenant include the last change that was signalled to this node. */
  current(tenantId: string): Promise<void> | undefined
  /** Reads the changes of a tenant, including changes that another node made a moment ago. */
  refresh(tenantId: string): Promise<void>
  onChange(listener: () => void): void
  start(): Promise<void>
  stop(): Promise<void>
}

interface Tenant {
  revision: number
  rules: Map<string, LinkedRule>
  actions: Map<string, ActionDefinition>
  triggers: Map<string, TriggerDefinition>
  /** The rules of each trigger, enabled or not. */
  rulesOfTrigger: Map<string, Set<string>>
}

const retryMs = 1000

export function createLibrary(deps: { db: Db; log: Log; changes: Pick<Changes, 'onChange'> }): Library {
  const { db, log } = deps
  const index = createTriggerIndex()
  const tenants = new Map<string, Tenant>()
  /** Running loads by tenant; each repeats while its tenant is in `toReload`. */
  const loads = new Map<string, Promise<void>>()
  const toReload = new Set<string>()
  const listeners: (() => void)[] = []
  let loadingAll: Promise<void> | undefined
  let isStopped = false

  async function readTenant(tenantId: string) {
    const known = tenants.get(tenantId)
    const changes = known && (await loadChanges(db.sql, tenantId, known.revision))
    if (known && changes) applyChanges(index, known, changes)
    else {
      const definitions = await loadDefinitions(db.sql, tenantId)
      for (const id of known?.triggers.keys() ?? []) index.remove(id)
      const tenant = newTenant()
      tenants.set(tenantId, tenant)
      applyChanges(index, tenant, { ...definitions, gone: [] })
    }
    for (const listener of listeners) listener()
  }

  async function load(tenantId: string) {
    do {
      toReload.delete(tenantId)
      try {
        await readTenant(tenantId)
      } catch (error) {
        if (isStopped) return
        loadingRulesFailed(log, { err: error, tenantId })
        toReload.add(tenantId)
        await sleep(retryMs)
      }
    } while (toReload.has(tenantId) && !isStopped)
  }

  function refresh(tenantId: string): Promise<void> {
    toReload.add(tenantId)
    let running = loads.get(tenantId)
    if (!running) {
      running = load(tenantId).finally(() => loads.delete(tenantId))
      loads.set(tenantId, running)
    }
    return running
  }

  function refreshAll(): Promise<void> {
    const started = (async () => {
      for (;;)
        try {
          const found = await findTenantsWithRules(db.sql)
          await Promise.all([...new Set([...found, ...tenants.keys()])].map(refresh))
          return
        } catch (error) {
          if (isStopped) return
          loadingRulesFailed(log, { err: error })
          await sleep(retryMs)
        }
    })().finally(() => {
      if (loadingAll === started) loadingAll = undefined
    })
    loadingAll = started
    return started
  }

  deps.changes.onChange((tenantId) => {
    if (isStopped) return
    void (tenantId === undefined ? refreshAll() : refresh(tenantId))
  })
  return {
    rule: (tenantId, ruleId) => tenants.get(tenantId)?.rules.get(ruleId),
    action: (tenantId, actionId) => tenants.get(tenantId)?.actions.get(actionId),
    index,
    wants: (type, origin) => loadingAll !== undefined || loads.has(origin.tenantId) || index.wants(type, origin),
    current: (tenantId) => loadingAll ?? loads.get(tenantId),
    refresh,
    onChange: (listener) => void listeners.push(listener),
    start: refreshAll,
    async stop() {
      isStopped = true
      await Promise.all([loadingAll, ...loads.values()])
    },
  }
}

const newTenant = (): Tenant => ({
  revision: 0,
  rules: new Map(),
  actions: new Map(),
  triggers: new Map(),
  rulesOfTrigger: new Map(),
})

function applyChanges(index: TriggerIndex, tenant: Tenant, changes: Definitions & { gone: string[] }) {
  tenant.revision = changes.revision
  const touched = new Set<string>()
  for (const id of changes.gone) {
    unlink(tenant, id, touched)
    tenant.rules.delete(id)
    tenant.actions.delete(id)
    if (tenant.triggers.delete(id)) index.remove(id)
  }
  for (const action of changes.actions) tenant.actions.set(action.id, action)
  for (const trigger of changes.triggers) {
    tenant.triggers.set(trigger.id, trigger)
    touched.add(trigger.id)
  }
  for (const rule of changes.rules) {
    unlink(tenant, rule.id, touched)
    tenant.rules.set(rule.id, rule)
    for (const triggerId of rule.triggerIds) {
      touched.add(triggerId)
      const rules = tenant.rulesOfTrigger.get(triggerId)
      if (rules) rules.add(rule.id)
      else tenant.rulesOfTrigger.set(triggerId, new Set([rule.id]))
    }
  }
  for (const triggerId of touched) {
    const trigger = tenant.triggers.get(triggerId)
    const rules = [...(tenant.rulesOfTrigger.get(triggerId) ?? [])]
    const enabled = rules.filter((id) => tenant.rules.get(id)?.state === 'ENABLED')
    if (trigger) index.put(trigger, enabled)
  }
}

/** Removes a rule from its triggers, and adds these triggers to `touched`. */
function unlink({ rules, rulesOfTrigger }: Tenant, ruleId: string, touched: Set<string>) {
  for (const triggerId of rules.get(ruleId)?.triggerIds ?? []) {
    const linked = rulesOfTrigger.get(triggerId)
    linked?.delete(ruleId)
    if (linked?.size === 0) rulesOfTrigger.delete(triggerId)
    touched.add(triggerId)
  }
}
