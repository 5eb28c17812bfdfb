/** Executes rules on demand and evaluates expressions. */
import { currentCause } from '../../../../kernel/cause.ts'
import type { Ctx } from '../../../../kernel/contract.ts'
import { DatabaseUnavailable, invalidField } from '../../../../kernel/errors.ts'
import { holds } from '../../../../kernel/permissions.ts'
import { SandboxBusy } from '../../../../sandbox/sandbox.ts'
import { type EndpointRef, endpointResource } from '../../../register/contract.ts'
import { causeOf, chainOf } from '../../chain.ts'
import { requireRow } from '../../definitions/service/library.ts'
import { type RuleRow, ruleKind } from '../../definitions/service/rules.ts'
import { checkScript } from '../../definitions/service/scripts.ts'
import type { LinkedRule } from '../../definitions/store/load.ts'
import { NoRule, ScriptsBusy } from '../../errors.ts'
import { reasonOf } from '../context/failure-text.ts'
import { createHost } from '../context/host.ts'
import { actionsWaitMs, chainDepth } from '../context/limits.ts'
import { derivedId } from '../derived-ids.ts'
import type { Ledger } from '../ledger.ts'
import type { RunResult } from '../run.ts'
import { requestOf } from '../script-run.ts'
import type { NewTrace } from '../traces.ts'
import type { EngineDeps } from './deps.ts'

export interface ExecutionResult {
  returnedValue: string
  traces: TraceView[]
}

export interface TraceView {
  id: string
  traceId: string
  entityType: string
  entityId: string
  raisedOnEntityType: string
  raisedOnEntityId: string
  outcome: string
  stage?: string
  reason?: string
  metadata: Record<string, unknown>
  createdAt: Date
}

export interface Executions {
  execute(ctx: Ctx, ruleId: string, body: unknown): Promise<ExecutionResult>
  evaluate(ctx: Ctx, request: EvaluationRequest): Promise<unknown>
}

export interface EvaluationRequest {
  expression: string
  endpointMetadata?: Record<string, unknown> | undefined
  childrenEndpoints?: string[] | undefined
}

/** If the traces are not durable after this time, the caller gets 503. */
const tracesWaitMs = 30_000

/** Members of `ctx` that a request body cannot replace. */
const platformMembers = new Set(['tenantId', 'toolbox', 'trigger', 'endpoint', 'data', 'body'])

export const createExecutions = (deps: EngineDeps): Executions => ({
  execute: (ctx, ruleId, body) => execute(deps, ctx, ruleId, body),
  evaluate: (ctx, request) => evaluate(deps, ctx, request),
})

/** Returns the current version of the rule, if the caller may execute it. */
export async function requireRule({ kit, library }: EngineDeps, ctx: Ctx, ruleId: string): Promise<LinkedRule> {
  const row = await requireRow<RuleRow>(kit.db.sql, ctx, ruleKind, { id: ruleId, verb: 'execute' })
  const { id, tenantId } = row
  await library.current(tenantId)
  // Another node may have written the rule a moment ago.
  if (library.rule(tenantId, id)?.version !== row.version) await library.refresh(tenantId)
  const rule = library.rule(tenantId, id)
  if (!rule) throw NoRule({ id: ruleId })
  return rule
}

/** Returns the endpoint that a request body names, if the caller may read it. */
export async function readableEndpoint(
  { register }: EngineDeps,
  { caller, tenantId }: Ctx,
  endpointId: unknown,
): Promise<EndpointRef | undefined> {
  const endpoint = typeof endpointId === 'string' ? await register.find(endpointId) : undefined
  if (!endpoint || endpoint.tenantId !== tenantId) return undefined
  return holds(caller, 'endpoint:read', endpointResource(endpoint)) ? endpoint : undefined
}

async function execute(deps: EngineDeps, ctx: Ctx, ruleId: string, body: unknown): Promise<ExecutionResult> {
  const { kit, run, ledger } = deps
  const rule = await requireRule(deps, ctx, ruleId)
  const members = membersOf(body)
  const endpoint = members && (await readableEndpoint(deps, ctx, members.endpointId))
  const at = kit.now().getTime()
  const eventId = kit.newId()
  const chain = chainOf(currentCause()) ?? { traceId: derivedId(at, eventId, 'chain'), depth: 1 }
  const writeTraces = createTraceWriter(ledger)
  let result: RunResult | undefined
  const ruleEnded = Promise.withResolvers<void>()
  const allEnded = run({
    rule,
    ...chain,
    id: derivedId(at, eventId, rule.id),
    eventId,
    at,
    endpoint,
    raisedOn: { entityType: 'ON_DEMAND', entityId: endpoint?.endpointId ?? rule.id },
    members,
    body,
    isTry: false,
    isNested: currentCause() !== undefined,
    onRuleEnded(running) {
      result = running
      ruleEnded.resolve()
    },
  }).then((ended) => {
    result = ended
    // An execution on demand has no stored event, so no action is unsettled and the traces can be written immediately.
    void writeTraces(ended.traces)
    return ended
  })
  allEnded.then(() => ruleEnded.resolve(), ruleEnded.reject)
  await ruleEnded.promise
  const ended = await waitForActions(allEnded)
  const traces = [...result!.traces]
  if (!(await endsWithin(writeTraces(result!.traces), tracesWaitMs))) throw DatabaseUnavailable()
  const now = kit.now()
  return { returnedValue: result!.returned ?? '', traces: [...traces, ...ended].map((trace) => viewOf(trace, now)) }
}

/**
 * Returns a function that gets the traces of a run and writes the traces that it has not written before. Its promise resolves when all
 * traces are durable. Waiting for the last write is enough, because the ledger makes its entries durable in order.
 */
function createTraceWriter(ledger: Pick<Ledger, 'write'>): (traces: NewTrace[]) => Promise<void> {
  let written = 0
  let durable = Promise.resolve()
  return (traces) => {
    const added = traces.slice(written)
    written = traces.length
    if (added.length > 0) durable = ledger.write({ traces: added })
    return durable
  }
}

/** Waits for a limited time until all actions have ended. Returns the traces of the actions that ended in the background. */
async function waitForActions(running: Promise<RunResult>): Promise<NewTrace[]> {
  const endedLater: NewTrace[] = []
  const all = running.then(({ pending }) =>
    Promise.all(
      pending.map(async ({ ended, toTrace }) => {
        endedLater.push(toTrace(await (ended ?? new Promise<never>(() => {}))))
      }),
    ),
  )
  await endsWithin(all, actionsWaitMs)
  return endedLater
}

/** Waits until the work has ended, but not longer than this time. Returns whether the work has ended. */
function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, false)
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer))
  })
}

/** Returns the members that a request body adds to `ctx`. */
function membersOf(body: unknown): Record<string, unknown> | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined
  return Object.fromEntries(Object.entries(body).filter(([name]) => !platformMembers.has(name)))
}

/** Returns the view of a trace. A trace that has no time yet, because it is written later, gets the time `now`. */
export const viewOf = (trace: NewTrace, now: Date): TraceView => ({
  id: trace.id,
  traceId: trace.traceId,
  entityType: trace.entityType,
  entityId: trace.entityId,
  raisedOnEntityType: trace.raisedOn.entityType,
  raisedOnEntityId: trace.raisedOn.entityId,
  outcome: trace.outcome,
  ...(trace.stage !== undefined && { stage: trace.stage }),
  ...(trace.reason !== undefined && { reason: trace.reason }),
  metadata: trace.metadata,
  createdAt: trace.createdMicros === undefined ? now : new Date(trace.createdMicros / 1000),
})

async function evaluate(deps: EngineDeps, ctx: Ctx, request: EvaluationRequest): Promise<unknown> {
  const { expression, endpointMetadata, childrenEndpoints } = request
  const { tenantId } = ctx
  const hasEndpoint = endpointMetadata !== undefined || childrenEndpoints !== undefined
  const chain = chainOf(currentCause()) ?? { traceId: derivedId(deps.kit.now().getTime(), deps.kit.newId()), depth: 1 }
  if (chain.depth > chainDepth) throw invalidField('expression', `the chain of rules is more than ${chainDepth} deep`)
  // Without this check, a text that closes the body of its function would run here, although no rule can have it.
  await checkScript({ check: deps.sandbox.check }, ctx, 'expression', expression)
  const host = createHost(deps.host, {
    tenantId,
    endpoint: undefined,
    caller: async () => ctx.caller,
    hasSecrets: false,
    isTry: false,
    cause: causeOf(chain),
    children: childrenEndpoints ?? [],
  })
  const input = {
    tenantId,
    endpoint: hasEndpoint ? { endpointId: '', metadata: endpointMetadata ?? {} } : undefined,
    data: {},
    endpointMetadata,
    childrenEndpoints,
  }
  const run = requestOf({
    tenantId,
    input: JSON.stringify(input),
    call: host.call,
    isNested: currentCause() !== undefined,
  })
  const outcome = await deps.sandbox.run({ ...run, script: expression }).catch((error) => {
    throw error instanceof SandboxBusy ? ScriptsBusy() : error
  })
  if (outcome.ok) return JSON.parse(outcome.json)
  if (host.hasFailed()) throw DatabaseUnavailable()
  const kind = { hasEndpoint, triggerKey: undefined, isEvaluation: true }
  throw invalidField('expression', reasonOf(outcome, expression, kind))
}
