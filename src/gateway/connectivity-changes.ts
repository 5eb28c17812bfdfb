/** The connects and disconnects of an endpoint that are collected for one batch. */
import type { Binding } from './connection-state.ts'

export interface Change {
  endpoint: Pick<Binding, 'endpointId' | 'applicationName' | 'versionName' | 'token'> & { tenantId: string }
  /** The last binding; undefined if it belonged to a dead node. */
  binding: Binding | undefined
  /** Key of the client's session; set if the session outlives the connection. */
  sessionKey: string | undefined
  /** Connects and disconnects alternate. The last step is the current state. */
  steps: Step[]
  /**
   * True if the endpoint was identified only after its connection had closed. Such a change does not replace another connection of the
   * endpoint.
   */
  transient: boolean
}

export interface Step {
  connected: boolean
  at: Date
  /** The reason why the endpoint disconnected, as a text for people. */
  reason?: string | undefined
}

/** Maximum number of steps of one endpoint in a batch. If there are more, the first step and the latest steps are kept. */
export const stepsMax = 8

export const isConnected = ({ connected }: Step) => connected
export const lastStep = ({ steps }: Change) => steps.at(-1)!
export const endpointIdsOf = (changes: Change[]) => changes.map(({ endpoint }) => endpoint.endpointId)

/**
 * Appends a step, with a later time than the previous step: the series of connectivity has only one point for each time. A step that
 * repeats the state of the previous step replaces it.
 */
export function addStep(steps: Step[], step: Step): Step[] {
  const { connected, at } = step
  const last = steps.at(-1)
  if (!last) return [step]
  if (last.connected === connected) return [...steps.slice(0, -1), step]
  const all = [...steps, { ...step, at: at > last.at ? at : new Date(last.at.getTime() + 1) }]
  if (all.length > stepsMax) all.splice(1, 2)
  return all
}

/** Appends the steps of `since` to the steps of `before`, which could not be written and are retried. */
export function mergeChanges(before: Change, since: Change | undefined): Change {
  if (!since) return before
  return { ...since, steps: since.steps.reduce(addStep, before.steps), transient: before.transient && since.transient }
}
