/** The interface between the engine, which runs rules, and the executors of actions. There is one executor for each action type. */
import type { EndpointRef } from '../../register/contract.ts'
import type { ActionDefinition, Stage } from '../model.ts'

/** The run of a rule that an action belongs to. */
export interface RunOfAction {
  tenantId: string
  ruleId: string
  ruleVersion: number
  /** Id of the chain of runs; all runs of the chain share it. */
  traceId: string
  /** The id of the action's trace. It is chosen before the action runs, and a webhook derives the id of its delivery from it. */
  id: string
  /** Depth of the rule's run in its chain, from 1. Rules that an action triggers run one level deeper. */
  depth: number
  /** The event that started the rule. An action that runs again after a crash uses it to avoid a second effect. */
  eventId: string
  /** Absent for runs without a trigger. */
  triggerId?: string
  triggerType?: string
  /** Absent for a run without an endpoint. */
  endpoint?: EndpointRef
  raisedOn: { entityType: 'ENDPOINT' | 'ON_DEMAND'; entityId: string }
  /** True in a test run: the executor describes its effect without causing it. */
  isTry: boolean
}

export type Evaluated =
  /** `value` is the parsed JSON; undefined if the attribute is absent. */
  { ok: true; value: unknown } | { ok: false; stage: Stage; reason: string }

export interface ActionRun {
  action: ActionDefinition
  run: RunOfAction
  /** Evaluates an attribute. A literal is returned as it is; a script runs in the sandbox with the context of the rule. */
  evaluate(attribute: string): Promise<Evaluated>
  signal: AbortSignal
  /**
   * Present if the event stays stored until everything that the run started is durable. `again`: an earlier run may have had effects.
   * `first` and `varying`: no earlier run had effects; `varying` means that another run may have other effects (ADR 35). Absent for runs on
   * demand.
   */
  readonly storedEvent?: 'first' | 'varying' | 'again' | undefined
}

export type ActionOutcome =
  | { outcome: 'SUCCESS'; metadata?: Record<string, unknown>; wouldDo?: unknown }
  | { outcome: 'FAILURE'; stage: Stage; reason: string; metadata?: Record<string, unknown> }
  /**
   * The action continues in the background, as webhooks and e-mails do. The node that ends it writes its trace. `ended` resolves with the
   * outcome if this node ends it, and otherwise never. `settled` is present if the action is not stored yet, so that the event of its run
   * must be kept. It resolves when a crash can no longer lose the action.
   */
  | { outcome: 'PENDING'; ended?: Promise<EndedOutcome>; settled?: Promise<void> }

export type EndedOutcome =
  | { outcome: 'SUCCESS'; metadata?: Record<string, unknown> }
  | { outcome: 'FAILURE'; stage: Stage; reason: string; metadata?: Record<string, unknown> }

/**
 * Runs actions of one type. An error of a user's script or of a receiver gives the outcome FAILURE; only errors of the platform are thrown.
 */
export type Executor = (run: ActionRun) => Promise<ActionOutcome>
