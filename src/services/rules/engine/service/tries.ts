/** Tries rules: runs them on a recorded or given event without effects, and returns what their actions would do. */
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { holds, onTenant } from '../../../../kernel/permissions.ts'
import type { EndpointRef } from '../../../register/contract.ts'
import { isUuid } from '../../definitions/service/library.ts'
import { checkScript } from '../../definitions/service/scripts.ts'
import type { LinkedRule } from '../../definitions/store/load.ts'
import { derivedId } from '../derived-ids.ts'
import { payloadKeys } from '../events/rule-event.ts'
import { findEvent } from '../store/traces.ts'
import type { EngineDeps } from './deps.ts'
import { readableEndpoint, requireRule, type TraceView, viewOf } from './executions.ts'

export interface TryRequest {
  traceId?: string | undefined
  trigger?: Record<string, unknown> | undefined
  endpointId?: string | undefined
  expression?: string | undefined
}

export interface TryResult {
  returnedValue: string
  traces: TraceView[]
  effects: { actionId: string; type: string; wouldDo: unknown }[]
}

export type Try = (ctx: Ctx, ruleId: string, request: TryRequest) => Promise<TryResult>

export const createTry =
  (deps: EngineDeps): Try =>
  async (ctx, ruleId, request) => {
    const rule = await requireRule(deps, ctx, ruleId)
    if (request.expression !== undefined)
      await checkScript({ check: deps.sandbox.check }, ctx, 'expression', request.expression)
    const { trigger, endpointId } = await eventOf(deps, ctx, rule, request)
    const endpoint = endpointId === undefined ? undefined : await requireEndpoint(deps, ctx, endpointId)
    const at = deps.kit.now()
    const eventId = deps.kit.newId()
    const { returned, traces, effects } = await deps.run({
      rule: { ...rule, expression: request.expression ?? rule.expression },
      traceId: derivedId(at.getTime(), eventId, 'chain'),
      id: derivedId(at.getTime(), eventId, rule.id),
      depth: 1,
      eventId,
      at: at.getTime(),
      endpoint,
      raisedOn: endpoint
        ? { entityType: 'ENDPOINT', entityId: endpoint.endpointId }
        : { entityType: 'ON_DEMAND', entityId: rule.id },
      triggerJson: trigger && JSON.stringify(trigger),
      triggerKey: trigger && Object.values(payloadKeys).find((key) => Object.hasOwn(trigger, key)),
      isTry: true,
      caller: ctx.caller,
    })
    return { returnedValue: returned ?? '', traces: traces.map((trace) => viewOf(trace, at)), effects }
  }

/** Returns the event that is stored with a trace, or the given event. */
async function eventOf(
  deps: EngineDeps,
  ctx: Ctx,
  rule: LinkedRule,
  { traceId, trigger, endpointId }: TryRequest,
): Promise<Pick<TryRequest, 'trigger' | 'endpointId'>> {
  if (traceId === undefined) return { trigger, endpointId }
  const { kit } = deps
  const { tenantId } = ctx
  if (trigger !== undefined) throw invalidField('trigger', 'expected traceId or trigger, not both')
  const found = isUuid(traceId) ? await findEvent(kit.db.sql, { tenantId, traceId, ruleId: rule.id }) : undefined
  if (!found || !(await mayReadEvent(deps, ctx, found)))
    throw invalidField('traceId', `there is no trace ${traceId} of this rule, or the caller may not read its endpoint`)
  if (found.event === null) {
    if (!found.isOnDemand) throw invalidField('traceId', 'the event of this trace was too large to be kept')
    return { endpointId: endpointId ?? (found.raisedOnId === rule.id ? undefined : found.raisedOnId) }
  }
  const event = JSON.parse(found.event) as Pick<TryRequest, 'trigger' | 'endpointId'>
  return { ...event, ...(endpointId !== undefined && { endpointId }) }
}

/**
 * Returns whether the caller may read the endpoint of an event. If the endpoint is no longer registered, the caller must be allowed to read
 * all endpoints.
 */
async function mayReadEvent(
  deps: EngineDeps,
  ctx: Ctx,
  { raisedOnId, isOnDemand }: { raisedOnId: string; isOnDemand: boolean },
): Promise<boolean> {
  if (isOnDemand || holds(ctx.caller, 'endpoint:read', onTenant(ctx.tenantId))) return true
  return (await readableEndpoint(deps, ctx, raisedOnId)) !== undefined
}

async function requireEndpoint(deps: EngineDeps, ctx: Ctx, endpointId: string): Promise<EndpointRef> {
  const endpoint = await readableEndpoint(deps, ctx, endpointId)
  if (!endpoint) throw invalidField('endpointId', `there is no endpoint ${endpointId}, or the caller may not read it`)
  return endpoint
}
