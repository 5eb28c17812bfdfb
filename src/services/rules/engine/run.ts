/** Runs a rule and its actions, and records the results as traces. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Caller } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Failure, Outcome } from '../../../sandbox/outcome.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { EndpointRef } from '../../register/contract.ts'
import type { ActionOutcome, ActionRun, EndedOutcome, Evaluated, Executor, RunOfAction } from '../actions/executor.ts'
import { causeOf } from '../chain.ts'
import { valueOfLiteral } from '../definitions/action-types.ts'
import type { Mask } from '../definitions/service/secret-values.ts'
import type { LinkedRule } from '../definitions/store/load.ts'
import type { ActionDefinition, ActionType, Stage, Writer } from '../model.ts'
import type { Chains } from './chains.ts'
import { reasonOf, stageOf } from './context/failure-text.ts'
import { createHost, type Host, type HostDeps, inputOf } from './context/host.ts'
import type { ContextInput } from './context/world.ts'
import { derivedId } from './derived-ids.ts'
import {
  outcomeOfPayload,
  type Payload,
  payloadActionOf,
  payloadAttribute,
  startWithPayload,
} from './payload-script.ts'
import { keepNothing, runScript } from './script-run.ts'
import { type NewTrace, pendingAction, traceOfAction } from './traces.ts'

/** A run of a rule. */
export interface RuleRun {
  rule: LinkedRule
  traceId: string
  /** The id of the rule's trace. */
  id: string
  depth: number
  eventId: string
  /** Time of the event or request, in milliseconds since 1970. The ids of traces begin with this time. */
  at: number
  endpoint: EndpointRef | undefined
  raisedOn: RunOfAction['raisedOn']
  /** JSON text of `ctx.trigger`. */
  triggerJson?: string | undefined
  /** The key of the trigger's payload in `ctx.trigger`. */
  triggerKey?: string | undefined
  triggerId?: string | undefined
  triggerType?: string | undefined
  /** JSON text of `ctx.data`. */
  dataJson?: string | undefined
  /** True if `ctx.data` may contain the value of a secret that an earlier script of the chain read. */
  mayHaveSecrets?: boolean | undefined
  /** True if an earlier script of the chain may produce another `ctx.data` when the event runs again. */
  varies?: boolean | undefined
  members?: Record<string, unknown> | undefined
  body?: unknown
  /** JSON text of the event, for the trace. */
  event?: string | undefined
  isTry: boolean
  /** True if another script waits for this run, because that script called the platform's API. */
  isNested?: boolean
  storedEvent?: ActionRun['storedEvent']
  /** Called when the rule has ended, before its actions run. The actions still add to the result. */
  onRuleEnded?(result: RunResult): void
  /** In a test run or replay: the caller on whose behalf scripts call the platform, instead of the writer of each script. */
  caller?: Caller | undefined
}

export interface PendingTrace {
  id: string
  /** Resolves when this node has ended the action, and never if another node ends it. Undefined if an earlier run started the action. */
  ended: Promise<EndedOutcome> | undefined
  toTrace(outcome: EndedOutcome): NewTrace
}

export interface RunResult {
  isSuccess: boolean
  /** The returned value as text, with secrets masked; undefined if the rule failed. */
  returned: string | undefined
  /**
   * Traces of everything that has ended, in order, including traces of executed rules. The trace of a pending action is written by the node
   * that ends it.
   */
  traces: NewTrace[]
  pending: PendingTrace[]
  /** One promise for each action that depends on the stored event of the run. It resolves when the action no longer depends on it. */
  unsettled: Promise<void>[]
  /** Effects that the actions would have had; only in a test run. */
  effects: { actionId: string; type: ActionType; wouldDo: unknown }[]
}

/** Thrown if the platform itself failed, not the script. The run is repeated. */
export class PlatformFailed extends Error {
  override readonly name = 'PlatformFailed'
}

export interface RunnerDeps extends HostDeps {
  kit: Pick<Kit, 'now' | 'stopping'>
  sandbox: Pick<Sandbox, 'run' | 'runThen'>
  chains: Chains
  actionOf(tenantId: string, actionId: string): ActionDefinition | undefined
  executors(): Partial<Record<ActionType, Executor>>
  /** Returns the writer of a script with its current permissions. */
  callerOf(tenantId: string, writer: Writer): Promise<Caller | undefined>
  /** Returns the time of a trace; see `Ledger`. */
  nextMicros(): number
  /** Returns a function that masks the secrets of a tenant. */
  maskOf(tenantId: string): Promise<Mask>
  /** Registers the run of a rule-execution action, so that the executed rule finds its context. */
  onAction(run: RunOfAction, ruleRun: RuleRun, state: RunState): void
}

const valueLength = 10_000

/** State that is passed from each script of a run to the next. */
export interface RunState {
  dataJson: string
  mayHaveSecrets: boolean
  /**
   * True if a further run of the same event may compute other values, because a script used the clock, random numbers or host functions.
   */
  varies: boolean
  /** The result of the run. Rules that its actions execute add their results to it. */
  result: RunResult
  /** The payload script of the first action. It ran directly after the rule's script, in the same round trip to the sandbox. */
  payload?: Payload | undefined
}

export type Runner = (run: RuleRun) => Promise<RunResult>

export const createRunner =
  (deps: RunnerDeps): Runner =>
  async (run) => {
    const refused = run.isTry ? undefined : deps.chains.begin(run.traceId, run.depth)
    if (refused !== undefined) return failedBefore(run, 'DEPTH_LIMIT', refused, deps.nextMicros())
    if (run.rule.state === 'DISABLED' && !run.isTry)
      return failedBefore(run, 'RULE_DISABLED', `rule ${run.rule.id} is disabled`, deps.nextMicros())
    const began = monotonicMs()
    const { outcome, host, payload } = await evaluate(
      deps,
      run,
      run.rule.writer,
      run.rule.expression,
      run.dataJson ?? '{}',
      run.isTry ? undefined : payloadActionOf(deps.actionOf, run.rule),
    )
    const durationMs = monotonicMs() - began
    const mayHaveSecrets = run.mayHaveSecrets === true || host.hasReadSecrets()
    const mask = mayHaveSecrets ? await deps.maskOf(run.rule.tenantId) : undefined
    const trace = { ...(await traceOfRule(run, outcome, durationMs, mask)), createdMicros: deps.nextMicros() }
    if (!outcome.ok) return failedWith(trace)
    const text = returnedText(outcome.json)
    const returned = mask ? await mask(text) : text
    const result: RunResult = { isSuccess: true, returned, traces: [trace], pending: [], unsettled: [], effects: [] }
    run.onRuleEnded?.(result)
    const dataJson = outcome.kept.data ?? '{}'
    await runActions(deps, run, outcome.json, {
      dataJson,
      mayHaveSecrets,
      varies: run.varies === true || outcome.varies === true,
      result,
      payload,
    })
    return result
  }

const failedWith = (trace: NewTrace): RunResult => ({
  isSuccess: false,
  returned: undefined,
  traces: [trace],
  pending: [],
  unsettled: [],
  effects: [],
})

export function failedBefore(run: RuleRun, stage: Stage, reason: string, createdMicros?: number): RunResult {
  const trace: NewTrace = {
    ...baseTrace(run),
    outcome: 'FAILURE',
    stage,
    reason,
    metadata: metadataOf(run, 0),
    durationMs: 0,
    createdMicros,
  }
  return failedWith(trace)
}

const metadataOf = (run: RuleRun, durationMs: number) => ({
  ruleVersion: run.rule.version,
  ...(run.triggerId !== undefined && { triggerId: run.triggerId }),
  ...(run.triggerType !== undefined && { triggerType: run.triggerType }),
  eventId: run.eventId,
  durationMs: Math.round(durationMs),
})

const baseTrace = (run: RuleRun) => ({
  id: run.id,
  traceId: run.traceId,
  tenantId: run.rule.tenantId,
  entityType: 'RULE',
  entityId: run.rule.id,
  raisedOn: run.raisedOn,
  ...(run.event !== undefined && { event: run.event }),
})

async function traceOfRule(run: RuleRun, outcome: Outcome, durationMs: number, mask?: Mask): Promise<NewTrace> {
  const masked = async (text: string) => (mask ? await mask(text) : text)
  const metadata = {
    ...metadataOf(run, durationMs),
    ...(outcome.ok && { returnedValue: cut(await masked(returnedText(outcome.json))) }),
    ...(outcome.log.length > 0 && { log: mask ? await maskAll(outcome.log, mask) : outcome.log }),
  }
  const base = { ...baseTrace(run), metadata, durationMs }
  if (outcome.ok) return { ...base, outcome: 'SUCCESS' }
  return {
    ...base,
    outcome: 'FAILURE',
    stage: stageOf(outcome),
    reason: await masked(reasonIn(run, outcome, run.rule.expression)),
  }
}

const cut = (text: string) => (text.length > valueLength ? `${text.slice(0, valueLength)}…` : text)

/** Returns a value, given as JSON, as text: a text as it is, everything else as JSON. */
export function returnedText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}

const reasonIn = (run: RuleRun, failure: Failure, script: string) =>
  reasonOf(failure, script, { hasEndpoint: run.endpoint !== undefined, triggerKey: run.triggerKey })

/** Runs a script with the context of a rule. Throws PlatformFailed if the platform failed. */
async function evaluate(
  deps: RunnerDeps,
  run: RuleRun,
  writer: Writer,
  script: string,
  dataJson: string,
  payloadAction?: ActionDefinition,
): Promise<{ outcome: Outcome; host: Host; payload?: Payload }> {
  const { tenantId } = run.rule
  const host = createHost(deps, {
    tenantId,
    endpoint: run.endpoint,
    caller: async () => (run.isTry ? run.caller : await deps.callerOf(tenantId, writer)),
    hasSecrets: !run.isTry,
    isTry: run.isTry,
    cause: causeOf(run),
  })
  const keep = hasActions(run) ? keepData : keepNothing
  const { isNested = false } = run
  const evaluation = { tenantId, input: contextJson(run, dataJson), script, call: host.call, keep, isNested }
  const payload = payloadAction && startWithPayload(deps.sandbox, evaluation, dataJson, payloadAction)
  const outcome = await (payload ? payload.first : runScript(deps.sandbox, evaluation))
  if (host.hasFailed()) throw new PlatformFailed('the database is not available')
  return { outcome, host, ...(payload && { payload }) }
}

const hasActions = ({ rule: { positiveActionIds, negativeActionIds } }: RuleRun) =>
  positiveActionIds.length + negativeActionIds.length > 0

/** Returns the JSON text of `ContextInput`. Its large members are already texts, so that several scripts can share them. */
function contextJson({ endpoint, triggerJson, members, body, rule }: RuleRun, dataJson: string): string {
  const own: Omit<ContextInput, 'data'> = {
    ...members,
    tenantId: rule.tenantId,
    endpoint: endpoint && inputOf(endpoint),
    ...(body !== undefined && { body }),
  }
  const trigger = triggerJson === undefined ? '' : `"trigger":${triggerJson},`
  return `${JSON.stringify(own).slice(0, -1)},${trigger}"data":${dataJson}}`
}

const keepData = ['data']

/**
 * Returns the actions to run for a returned value: negative actions for false, no actions for null, positive actions for any other value.
 */
function actionsOf({ rule }: RuleRun, json: string): string[] {
  if (json === 'null') return []
  return json === 'false' ? rule.negativeActionIds : rule.positiveActionIds
}

/** Runs the actions in the order of attachment. An action that fails does not stop the next actions. */
async function runActions(deps: RunnerDeps, run: RuleRun, json: string, state: RunState) {
  for (const [position, actionId] of actionsOf(run, json).entries()) {
    const action = deps.actionOf(run.rule.tenantId, actionId)
    if (action) await runAction(deps, run, action, position, state)
  }
}

async function runAction(deps: RunnerDeps, run: RuleRun, action: ActionDefinition, position: number, state: RunState) {
  const { rule, traceId, depth, eventId, endpoint, raisedOn, isTry, triggerId, triggerType } = run
  const { result } = state
  const actionRun: RunOfAction = {
    tenantId: rule.tenantId,
    ruleId: rule.id,
    ruleVersion: rule.version,
    traceId,
    id: derivedId(run.at, run.id, action.id, position),
    depth,
    eventId,
    ...(triggerId !== undefined && { triggerId }),
    ...(triggerType !== undefined && { triggerType }),
    ...(endpoint && { endpoint }),
    raisedOn,
    isTry,
  }
  if (action.type === 'rule-execution') deps.onAction(actionRun, run, state)
  const log: string[] = []
  const evaluateAttribute = async (attribute: string): Promise<Evaluated> => {
    const value = action.fields[attribute]
    if (typeof value !== 'string') return { ok: true, value }
    if (action.valueTypes[attribute] === 'LITERAL')
      return { ok: true, value: valueOfLiteral(action.type, attribute, value) }
    if (action.valueTypes[attribute] !== 'SCRIPT') return { ok: true, value }
    const known = attribute === payloadAttribute ? await outcomeOfPayload(state, action) : undefined
    const { outcome, host } = known
      ? { outcome: known, host: undefined }
      : await evaluate(deps, run, action.writer, value, state.dataJson)
    if (host?.hasReadSecrets()) state.mayHaveSecrets = true
    if (outcome.varies) state.varies = true
    log.push(...outcome.log)
    if (!outcome.ok)
      return { ok: false, stage: stageOf(outcome), reason: `${attribute}: ${reasonIn(run, outcome, value)}` }
    state.dataJson = outcome.kept.data ?? state.dataJson
    return { ok: true, value: JSON.parse(outcome.json) }
  }
  const began = monotonicMs()
  const outcome = await execute(deps, {
    action,
    run: actionRun,
    evaluate: evaluateAttribute,
    signal: deps.kit.stopping,
    // This is a getter, because executors read it after their scripts have run, and these scripts can set `state.varies`.
    get storedEvent() {
      return run.storedEvent === 'first' && state.varies ? 'varying' : run.storedEvent
    },
  })
  const pending = pendingAction(actionRun, action)
  if (outcome.outcome === 'PENDING') {
    const toTrace = (ended: EndedOutcome) => traceOfAction(pending, ended, monotonicMs() - began)
    if (outcome.settled) result.unsettled.push(outcome.settled)
    return void result.pending.push({ id: actionRun.id, ended: outcome.ended, toTrace })
  }
  if (isTry && outcome.outcome === 'SUCCESS')
    result.effects.push({ actionId: action.id, type: action.type, wouldDo: outcome.wouldDo ?? null })
  const metadata = { ...outcome.metadata, ...(log.length > 0 && { log }) }
  const ended = traceOfAction(pending, { ...outcome, metadata }, monotonicMs() - began)
  const trace = { ...ended, createdMicros: deps.nextMicros() }
  result.traces.push(state.mayHaveSecrets ? await maskTrace(trace, await deps.maskOf(rule.tenantId)) : trace)
}

async function execute(deps: RunnerDeps, run: ActionRun): Promise<ActionOutcome> {
  const executor = deps.executors()[run.action.type]
  if (!executor) throw new Error(`there is no executor of ${run.action.type} actions`)
  return await executor(run)
}

const maskTrace = async (trace: NewTrace, mask: Mask): Promise<NewTrace> => ({
  ...trace,
  ...(trace.reason !== undefined && { reason: await mask(trace.reason) }),
  metadata: (await maskValue(trace.metadata, mask)) as Record<string, unknown>,
})

async function maskAll(texts: string[], mask: Mask): Promise<string[]> {
  const masked: string[] = []
  for (const text of texts) masked.push(await mask(text))
  return masked
}

async function maskValue(value: unknown, mask: Mask): Promise<unknown> {
  if (typeof value === 'string') return await mask(value)
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) items.push(await maskValue(item, mask))
    return items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries: [string, unknown][] = []
  for (const [key, one] of Object.entries(value)) entries.push([key, await maskValue(one, mask)])
  return Object.fromEntries(entries)
}
