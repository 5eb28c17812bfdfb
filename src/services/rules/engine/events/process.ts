/** Runs an event for all rules that it matches. Each run has an end: it is done, it failed with a trace, or it became a dead letter. */
import { createBatcher } from '../../../../kernel/batcher.ts'
import { sleep } from '../../../../kernel/clock.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { ProcessStopping } from '../../../../kernel/errors.ts'
import { SandboxStopped } from '../../../../sandbox/pool.ts'
import type { EndpointRef, Register } from '../../../register/contract.ts'
import { chainOf } from '../../chain.ts'
import type { LinkedRule } from '../../definitions/store/load.ts'
import { runOfRuleFailed } from '../../log-messages.ts'
import { type TriggerDefinition, typeConstant } from '../../model.ts'
import { derivedId, idsOfRun } from '../derived-ids.ts'
import { type Ledger, writeWhenSettled } from '../ledger.ts'
import type { Library } from '../library.ts'
import { failedBefore, type RuleRun, type Runner } from '../run.ts'
import type { DeadLetterRow } from '../store/dead-letters.ts'
import { countStarts } from '../store/events.ts'
import { findExisting } from '../store/traces.ts'
import { payloadFor } from '../trigger-index.ts'
import type { StoredRow } from './recorder.ts'
import { payloadKeys, type RuleEvent } from './rule-event.ts'

export interface ProcessDeps {
  kit: Pick<Kit, 'db' | 'log' | 'now' | 'metrics' | 'stopping'>
  library: Library
  register: Pick<Register, 'find'>
  run: Runner
  ledger: Ledger
}

export interface Processor {
  /** Runs an event. The returned promises resolve when the traces of its runs are in the ledger. */
  run(row: StoredRow, event: RuleEvent): Promise<Promise<void>[]>
  /** Ends the events of a row as failed, with a trace that contains the reason. */
  reject(row: StoredRow, reason: string): Promise<void>
}

/**
 * Maximum number of attempts if the platform itself fails, and of starts after takeovers if nodes die. After that, the event becomes a dead
 * letter. A takeover counts only if the new node starts the event, because nodes may die often while an event waits in a long queue.
 */
const triesMax = 5
const startsPerStatement = 200
const pauseMs = [100, 500, 2000, 5000]
/** Maximum length of the event JSON that is stored with its traces. */
const eventLength = 65_536

export function createProcessor(deps: ProcessDeps): Processor {
  const { metrics } = deps.kit
  const received = metrics.counter(
    'waypost_rule_events_received_total',
    'Number of events that start rules; an event counts once for each of its rules.',
  )
  const ended = metrics.counter('waypost_rule_events_total', 'Number of events of rules that have ended, by outcome.', [
    'outcome',
  ])
  const counters = {
    received: () => received.inc(),
    ended: (outcome: 'done' | 'failed' | 'dead') => ended.inc({ outcome }),
  }
  const startsOf = createStarts(deps.kit.db)
  return {
    async run(row, event) {
      const starts = row.isTakenOver ? await retried(() => startsOf(row)) : 0
      return await processEvent(deps, { counters, starts }, row, event)
    },
    async reject(row, reason) {
      for (const event of row.events) await processEvent(deps, { counters, starts: 0, rejection: reason }, row, event)
      await deps.ledger.write({ endedRow: row.id })
    },
  }
}

/**
 * Returns a function that counts the start of a row that was taken over, once for all its events, and returns how often nodes have started
 * the row. Rows that start together share a statement.
 */
function createStarts(db: ProcessDeps['kit']['db']): (row: StoredRow) => Promise<number> {
  const count = createBatcher<number, number>((ids) => countStarts(db.sql, ids), startsPerStatement)
  const counted = new WeakMap<StoredRow, Promise<number>>()
  return (row) => {
    const known = counted.get(row)
    if (known) return known
    const starts = count(row.id).then((number) => number ?? 0)
    counted.set(row, starts)
    starts.catch(() => counted.delete(row))
    return starts
  }
}

interface Counters {
  received(): void
  ended(outcome: 'done' | 'failed' | 'dead'): void
}

async function processEvent(
  deps: ProcessDeps,
  { counters, starts, rejection }: { counters: Counters; starts: number; rejection?: string },
  { tenantId, isTakenOver }: StoredRow,
  event: RuleEvent,
): Promise<Promise<void>[]> {
  const { library } = deps
  const written: Promise<void>[] = []
  await library.current(tenantId)
  const endpoint = event.endpoint && (await endpointOf(deps, tenantId, event.endpoint))
  // An endpoint that was unregistered meanwhile has no rules.
  if (event.endpoint && !endpoint) return written
  const known = endpoint ? { ...event, endpoint } : event
  for (const { rule, trigger } of matchesOf(library, tenantId, known)) {
    const run = runOf(rule, trigger, event, endpoint)
    if (isTakenOver && (await hasRun(deps, run))) continue
    counters.received()
    if (rejection !== undefined) {
      counters.ended('failed')
      await deps.ledger.write(failedBefore(run, 'EXPRESSION_EVALUATION', rejection))
    } else if (starts >= triesMax) {
      counters.ended('dead')
      const reason = `the process that ran the event died ${starts} times`
      await deps.ledger.write({ deadLetters: [deadLetterOf(deps, run, event, reason)] })
    } else {
      const mayHaveRun = isTakenOver || event.ruleId !== undefined
      const storedEvent = mayHaveRun ? 'again' : hasWholeContext(event) ? 'first' : 'varying'
      await runToEnd(deps, counters, { ...run, storedEvent }, event, written)
    }
  }
  return written
}

/**
 * Returns whether the event contains the whole context of its rules. It may lack the version of the endpoint, which is then read when the
 * event runs, so a later run may see another version.
 */
const hasWholeContext = ({ endpoint }: RuleEvent) => endpoint === undefined || endpoint.versionName !== undefined

async function endpointOf(
  { register }: ProcessDeps,
  tenantId: string,
  { endpointId, applicationName, versionName }: NonNullable<RuleEvent['endpoint']>,
): Promise<EndpointRef | undefined> {
  if (versionName !== undefined) return { tenantId, endpointId, applicationName, versionName }
  return await retried(async () => {
    const found = await register.find(endpointId)
    return found?.tenantId === tenantId ? found : undefined
  })
}

/** Retries a read that fails, for example because the database is not available. */
async function retried<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++)
    try {
      return await read()
    } catch (error) {
      if (attempt === triesMax) throw error
      await sleep(pauseMs[Math.min(attempt, pauseMs.length - 1)]!)
    }
}

/** Returns the rules that the event starts, each with the first of its triggers that match. */
function matchesOf(
  library: Library,
  tenantId: string,
  event: RuleEvent,
): { rule: LinkedRule; trigger: TriggerDefinition }[] {
  const found = new Map<string, { rule: LinkedRule; trigger: TriggerDefinition; position: number }>()
  for (const { trigger, ruleIds } of library.index.match(tenantId, event))
    for (const ruleId of ruleIds) {
      const rule = library.rule(tenantId, ruleId)
      if (rule?.state !== 'ENABLED' || (event.ruleId !== undefined && event.ruleId !== ruleId)) continue
      const position = rule.triggerIds.indexOf(trigger.id)
      const before = found.get(ruleId)
      if (!before || position < before.position) found.set(ruleId, { rule, trigger, position })
    }
  return [...found.values()]
}

/** Returns the members of `ctx.trigger`. */
export const triggerMembers = (trigger: TriggerDefinition, payload: unknown, versionName: string | undefined) => ({
  id: trigger.id,
  name: trigger.name,
  type: typeConstant(trigger.type),
  metadata: trigger.metadata ?? {},
  ...(versionName !== undefined && { appVersionName: versionName }),
  [payloadKeys[trigger.type]]: payload,
})

/**
 * Returns the ids of a run. They are derived from the event's type and endpoint too: samples and points of one message share an event id,
 * and so do all endpoints of a tick.
 */
export const idsOfEvent = ({ type, eventId, at, endpoint }: RuleEvent, ruleId: string) =>
  idsOfRun(at, `${type} ${eventId} ${endpoint?.endpointId ?? ''}`, ruleId)

function runOf(
  rule: LinkedRule,
  trigger: TriggerDefinition,
  event: RuleEvent,
  endpoint: EndpointRef | undefined,
): RuleRun {
  const ids = idsOfEvent(event, rule.id)
  const chain = chainOf(event.cause) ?? { traceId: ids.traceId, depth: 1 }
  const members = triggerMembers(trigger, payloadFor(trigger, event.payload), endpoint?.versionName)
  const triggerJson = JSON.stringify(members)
  const text = `{"trigger":${triggerJson}${endpoint ? `,"endpointId":${JSON.stringify(endpoint.endpointId)}` : ''}}`
  return {
    rule,
    ...chain,
    id: ids.id,
    eventId: event.eventId,
    at: event.at,
    endpoint,
    raisedOn: endpoint
      ? { entityType: 'ENDPOINT', entityId: endpoint.endpointId }
      : { entityType: 'ON_DEMAND', entityId: trigger.id },
    triggerJson,
    triggerKey: payloadKeys[trigger.type],
    triggerId: trigger.id,
    triggerType: typeConstant(trigger.type),
    event: text.length <= eventLength ? text : undefined,
    isTry: false,
  }
}

/** Returns whether a dead node has already completed this run and written its trace. */
const hasRun = async ({ kit }: ProcessDeps, { traceId, id }: RuleRun) =>
  (await findExisting(kit.db.sql, [{ traceId, id }])).size > 0

async function runToEnd(
  deps: ProcessDeps,
  counters: Counters,
  run: RuleRun,
  event: RuleEvent,
  written: Promise<void>[],
) {
  const { kit, ledger } = deps
  for (let attempt = 1; ; attempt++)
    try {
      const result = await deps.run(attempt === 1 ? run : { ...run, storedEvent: 'again' })
      counters.ended(result.isSuccess ? 'done' : 'failed')
      // The row of the event is ended after this write. If the node crashes in between, rules that have a trace do not run again.
      written.push(writeWhenSettled(ledger, result))
      return
    } catch (error) {
      if (error instanceof SandboxStopped || kit.stopping.aborted) throw ProcessStopping()
      runOfRuleFailed(kit.log, { err: error, ruleId: run.rule.id, tenantId: run.rule.tenantId, attempt })
      if (attempt === triesMax) {
        counters.ended('dead')
        const reason = error instanceof Error ? error.message : String(error)
        return await ledger.write({ deadLetters: [deadLetterOf(deps, run, event, reason)] })
      }
      await sleep(pauseMs[attempt - 1]!)
    }
}

function deadLetterOf({ kit }: ProcessDeps, run: RuleRun, event: RuleEvent, reason: string): DeadLetterRow {
  return {
    id: derivedId(event.at, 'dead letter', run.id),
    tenantId: run.rule.tenantId,
    ruleId: run.rule.id,
    triggerId: run.triggerId!,
    endpointId: run.endpoint?.endpointId ?? null,
    eventId: event.eventId,
    reason,
    event: JSON.stringify(event),
    createdAt: kit.now(),
  }
}
