/** Traces: each rule and each action that ran has a trace. Traces are written in batches, together with the end of their events. */
import type { Sql } from '../../../kernel/db.ts'
import type { EndedOutcome, RunOfAction } from '../actions/executor.ts'
import { type ActionDefinition, type ActionType, type Stage, traceEntityType } from '../model.ts'

export interface NewTrace {
  id: string
  /** Id of the chain; all runs of the chain share it. */
  traceId: string
  tenantId: string
  /** RULE, or the type of the action, such as WEBHOOK_ACTION. */
  entityType: string
  entityId: string
  raisedOn: RunOfAction['raisedOn']
  outcome: 'SUCCESS' | 'FAILURE'
  stage?: Stage | undefined
  reason?: string | undefined
  metadata: Record<string, unknown>
  durationMs: number
  /** The time at which the run ended, in microseconds since 1970. If absent, the trace gets the time at which it is written. */
  createdMicros?: number | undefined
  /** The event as JSON text, for a rule that a trigger started. */
  event?: string | undefined
}

/** Everything that the trace of a pending action needs. It is plain JSON, so that an executor can store it in its own row. */
export interface PendingAction {
  tenantId: string
  /** The id of the trace, from `RunOfAction`. */
  id: string
  traceId: string
  actionId: string
  actionType: ActionType
  ruleId: string
  ruleVersion: number
  eventId: string
  /** Absent for runs without a trigger. */
  triggerId?: string
  triggerType?: string
  raisedOn: RunOfAction['raisedOn']
  /**
   * The id that the receiver of a webhook gets. Absent for e-mails, and for webhooks that an earlier version of Waypost stored; the
   * receiver of these webhooks gets `id`.
   */
  deliveryId?: string
}

/** Returns the data that an executor keeps until the action ends, if its answer is PENDING. */
export const pendingAction = (run: RunOfAction, action: ActionDefinition): PendingAction => ({
  tenantId: run.tenantId,
  id: run.id,
  traceId: run.traceId,
  actionId: action.id,
  actionType: action.type,
  ruleId: run.ruleId,
  ruleVersion: run.ruleVersion,
  eventId: run.eventId,
  ...(run.triggerId !== undefined && { triggerId: run.triggerId }),
  ...(run.triggerType !== undefined && { triggerType: run.triggerType }),
  raisedOn: run.raisedOn,
})

export interface EndedAction {
  action: PendingAction
  outcome: EndedOutcome
  durationMs: number
}

/** Writes the traces of actions that end after their rule. */
export interface EndedActions {
  /**
   * Writes the traces in the transaction that records the end of the actions, so that traces and ends are stored together or not at all.
   */
  ended(sql: Sql, actions: EndedAction[]): Promise<void>
  /** Writes the trace before any trace of a later call. Resolves when it is durable. */
  write(action: EndedAction): Promise<void>
  /** Returns whether the trace of the action exists. */
  isEnded(action: PendingAction): Promise<boolean>
}

export const traceOfAction = (action: PendingAction, outcome: EndedOutcome, durationMs: number): NewTrace => ({
  id: action.id,
  traceId: action.traceId,
  tenantId: action.tenantId,
  entityType: traceEntityType(action.actionType),
  entityId: action.actionId,
  raisedOn: action.raisedOn,
  outcome: outcome.outcome,
  ...(outcome.outcome === 'FAILURE' && { stage: outcome.stage, reason: outcome.reason }),
  metadata: {
    ruleId: action.ruleId,
    ...(action.triggerId !== undefined && { triggerId: action.triggerId }),
    ...(action.triggerType !== undefined && { triggerType: action.triggerType }),
    eventId: action.eventId,
    durationMs: Math.round(durationMs),
    ...outcome.metadata,
  },
  durationMs,
})
