/**
 * Signals between nodes about devices. A signal goes only to the node that it concerns, except `ObservationsChanged`, which goes to all
 * nodes.
 */
import type { Push } from '../kernel/device.ts'
import { defineSignal } from '../kernel/signals.ts'
import type { Delivery } from './contract.ts'

/** A CONNECT that takes over a session. `clean` is true if the client starts clean; the stored session is then discarded. */
export interface Claim {
  key: string
  claim: number
  clean: boolean
}

/**
 * Informs the nodes that had the connections of these endpoints before. The endpoints are now connected to the sending node; each entry has
 * the number of the new binding.
 */
export const EndpointsMoved = defineSignal<{ endpoints: [endpointId: string, number: number][] }>(
  'gateway.endpoints-moved',
)

/** Informs the nodes that had these clients before that the clients have connected to the sending node. */
export const SessionsClaimed = defineSignal<{ claims: Claim[] }>('gateway.sessions-claimed')

/** Informs the claiming node that the state of these sessions is written. */
export const SessionsReleased = defineSignal<{ keys: string[] }>('gateway.sessions-released')

/** Informs the node of connected clients that messages were queued in their sessions. */
export const MessagesQueued = defineSignal<{ keys: string[] }>('gateway.messages-queued')

/** Informs all nodes that devices have stopped or restarted pushes. Without ids, the observations of any device may have changed. */
export const ObservationsChanged = defineSignal<{ endpointIds?: string[] }>('gateway.observations-changed')

/** Forwards a push to the node that has the connection of the endpoint. */
export const PushForwarded = defineSignal<{
  id: string
  endpointId: string
  /**
   * The content of the push. It is plain in a signal that is sent immediately. It is `sealed` in a signal that is stored in a row, because
   * a push may contain secrets.
   */
  push?: Push
  sealed?: string
  /** The node that waits for the outcome. */
  sender: string
  /** Number of times that nodes have already forwarded the push. */
  hops: number
}>('gateway.push-forwarded')

/** Reports the outcome of a push to the node that sent it. */
export const PushSettled = defineSignal<{ id: string; delivery: Delivery }>('gateway.push-settled')
