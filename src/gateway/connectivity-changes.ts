/** What happened to the connections of endpoints within a batch. */
import type { Presence } from './peers.ts'

export interface Change {
  of: Pick<Presence, 'endpointId' | 'applicationName' | 'versionName' | 'token'> & { tenantId: string }
  /** The last one; undefined where a dead node had it. */
  presence: Presence | undefined
  /** Kept beyond the connection. */
  sessionKey: string | undefined
  /** Connected and disconnected in turn; the last step is the present state. */
  steps: Step[]
  /** It was never bound: its last message came after its connection had ended. It takes the endpoint from nobody. */
  visit: boolean
}

export interface Step {
  connected: boolean
  at: Date
}

/** Steps of one endpoint in a batch; beyond, the first and the last are reported. */
export const stepsMax = 8

export const isConnected = ({ connected }: Step) => connected
export const lastOf = ({ steps }: Change) => steps.at(-1)!
export const idsOf = (changes: Change[]) => changes.map(({ of }) => of.endpointId)

/** Each step is later than the one before: two points of a series at one moment would be one. */
export function stepped(steps: Step[], { connected, at }: Step): Step[] {
  const last = steps.at(-1)
  if (!last) return [{ connected, at }]
  if (last.connected === connected) return [...steps.slice(0, -1), { connected, at }]
  const all = [...steps, { connected, at: at > last.at ? at : new Date(last.at.getTime() + 1) }]
  if (all.length > stepsMax) all.splice(1, 2)
  return all
}

/** What was noted while `before` could not be written comes behind it. */
export function merged(before: Change, since: Change | undefined): Change {
  if (!since) return before
  return { ...since, steps: since.steps.reduce(stepped, before.steps), visit: before.visit && since.visit }
}
