/** Attaches triggers and actions to rules, and detaches them (document 3, 2.9; document 5, 5.10). */
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Sql } from '../../../../kernel/db.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { NoActionType, NoTriggerType } from '../../errors.ts'
import { type ActionType, actionTypes, type TriggerType, typeConstant } from '../../model.ts'
import * as store from '../store/links.ts'
import { triggerTypeOf } from '../trigger-types.ts'
import { actionKind } from './actions.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { ruleKind } from './rules.ts'
import { triggerKind } from './triggers.ts'

const attachedMax = 100

export interface LinkedView {
  id: string
  type: string
  name: string
}

/** The lists of positive and negative actions. A request can give each list under either of two names. */
export interface NamedActions {
  positiveActionIds?: string[] | undefined
  negativeActionIds?: string[] | undefined
  positiveActions?: string[] | undefined
  negativeActions?: string[] | undefined
}

export interface LinkOperations {
  triggersOf(ctx: Ctx, ruleId: string): Promise<LinkedView[]>
  actionsOf(ctx: Ctx, ruleId: string): Promise<{ positiveActions: LinkedView[]; negativeActions: LinkedView[] }>
  /** Replaces the rule's triggers of a type. With `keep`, adds triggers and removes none. */
  setTriggers(ctx: Ctx, links: { ruleId: string; type: string; keep?: boolean }, ids: string[]): Promise<void>
  /** Replaces the rule's actions of a type. */
  setActions(ctx: Ctx, links: { ruleId: string; type: string }, named: NamedActions): Promise<void>
}

export const createLinkOperations = (deps: Deps): LinkOperations => ({
  async triggersOf(ctx, ruleId) {
    const { sql } = deps.kit.db
    const { id } = await library.requireRow(sql, ctx, ruleKind, { id: ruleId, verb: 'read' })
    return (await store.findTriggersOfRule(sql, id)).map(viewOf)
  },
  async actionsOf(ctx, ruleId) {
    const { sql } = deps.kit.db
    const { id } = await library.requireRow(sql, ctx, ruleKind, { id: ruleId, verb: 'read' })
    const actions = await store.findActionsOfRule(sql, id)
    return {
      positiveActions: actions.filter(({ isPositive }) => isPositive).map(viewOf),
      negativeActions: actions.filter(({ isPositive }) => !isPositive).map(viewOf),
    }
  },
  setTriggers: (ctx, links, ids) => setTriggers(deps, ctx, links, ids),
  setActions: (ctx, links, named) => setActions(deps, ctx, links, named),
})

const viewOf = ({ id, type, name }: store.LinkedItem): LinkedView => ({ id, type: typeConstant(type), name })

async function setTriggers(
  deps: Deps,
  ctx: Ctx,
  { ruleId, type: segment, keep = false }: { ruleId: string; type: string; keep?: boolean },
  requestedIds: string[],
) {
  const type = triggerTypeOf(segment)
  await changeLinks(deps, ctx, ruleId, async (sql, rule) => {
    if (!type) throw NoTriggerType({ type: segment })
    const ids = await attachable(sql, ctx, { table: 'triggers', type, field: 'triggerIds' }, requestedIds)
    const linked = await store.findTriggersOfRule(sql, rule.ruleId)
    const ofType = linked.filter((trigger) => trigger.type === type).map(({ id }) => id)
    const removed = keep ? [] : ofType.filter((id) => !ids.includes(id))
    const added = ids.filter((id) => !ofType.includes(id))
    if (linked.length - removed.length + added.length > attachedMax)
      throw invalidField('triggerIds', `a rule has at most ${attachedMax} triggers`)
    await store.deleteTriggerLinks(sql, rule, removed)
    await store.appendTriggerLinks(sql, rule, added)
    return removed.length + added.length > 0
  })
}

async function setActions(
  deps: Deps,
  ctx: Ctx,
  { ruleId, type: segment }: { ruleId: string; type: string },
  named: NamedActions,
) {
  const type = actionTypes.find((known) => known === segment)
  await changeLinks(deps, ctx, ruleId, async (sql, rule) => {
    if (!type) throw NoActionType({ type: segment })
    const lists = listsOf(named)
    const before = await store.findActionsOfRule(sql, rule.ruleId)
    const after = before.filter((action) => action.type !== type).map(({ id }) => id)
    let changed = 0
    for (const isPositive of [true, false]) {
      const field = isPositive ? 'positiveActionIds' : 'negativeActionIds'
      const requestedIds = isPositive ? lists.positive : lists.negative
      const ids = await attachable(sql, ctx, { table: 'actions', type, field }, requestedIds)
      const ofType = before.filter((action) => action.type === type && action.isPositive === isPositive)
      const known = ofType.map(({ id }) => id)
      const removed = known.filter((id) => !ids.includes(id))
      const added = ids.filter((id) => !known.includes(id))
      await store.deleteActionLinks(sql, { ...rule, isPositive }, removed)
      await store.appendActionLinks(sql, { ...rule, isPositive }, added)
      after.push(...ids)
      changed += removed.length + added.length
    }
    if (new Set(after).size > attachedMax)
      throw invalidField('positiveActionIds', `a rule has at most ${attachedMax} actions`)
    return changed > 0
  })
}

/** Returns both lists. A body that contains neither list is rejected, because its field names may be misspelled. */
function listsOf(named: NamedActions) {
  for (const sign of ['positive', 'negative'] as const)
    if (named[`${sign}Actions`] && named[`${sign}ActionIds`])
      throw invalidField(`${sign}ActionIds`, `is given twice, also as ${sign}Actions`)
  const positive = named.positiveActionIds ?? named.positiveActions
  const negative = named.negativeActionIds ?? named.negativeActions
  if (!positive && !negative) throw invalidField('positiveActionIds', 'expected this or negativeActionIds')
  return { positive: positive ?? [], negative: negative ?? [] }
}

/** Changes a rule's links while the rule is locked. The change is recorded if `work` returns true. */
async function changeLinks(
  { kit, changes }: Deps,
  ctx: Ctx,
  ruleId: string,
  work: (sql: Sql, rule: { tenantId: string; ruleId: string }) => Promise<boolean>,
) {
  await kit.db.tx(async (sql) => {
    const rule = await library.requireRow(sql, ctx, ruleKind, { id: ruleId, verb: 'update', lock: true })
    library.requireOwn(rule)
    const isChanged = await work(sql, { tenantId: rule.tenantId, ruleId: rule.id })
    if (isChanged) await changes.record(sql, rule.tenantId, [rule.id])
  })
}

type Attaching =
  | { table: 'triggers'; type: TriggerType; field: string }
  | { table: 'actions'; type: ActionType; field: string }

/** Returns the ids without repetitions. Throws 400 for an id that the caller may not read, and 409 for a part of an alert setting. */
async function attachable(sql: Sql, ctx: Ctx, attaching: Attaching, requestedIds: string[]): Promise<string[]> {
  const { table, type, field } = attaching
  const kind = attaching.table === 'triggers' ? triggerKind(attaching.type) : actionKind(attaching.type)
  const ids = [...new Set(requestedIds.map((id) => id.toLowerCase()))]
  const known = ids.filter(library.isUuid)
  const found = await store.findAttachable(sql, table, { tenantId: ctx.tenantId, type, ids: known })
  const byId = new Map(found.map((item) => [item.id, item]))
  for (const id of ids) {
    const item = byId.get(id)
    if (!item || !library.mayRead(ctx, kind, id))
      throw invalidField(field, `there is no ${type} ${kind.resource} ${id}, or the caller may not read it`)
    library.requireOwn(item)
  }
  return ids
}
