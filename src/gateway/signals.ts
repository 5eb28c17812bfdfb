/** Signals between nodes about devices. All but `ObservationsChanged` go to the one node concerned. */
import type { Push } from '../kernel/device.ts'
import { defineSignal } from '../kernel/signals.ts'
import type { Delivery } from './contract.ts'

/** A CONNECT that takes over a session. `clean`: the client starts clean, so the stored session is discarded. */
export interface Claim {
  key: string
  claim: number
  clean: boolean
}

/** Informs the previous node of endpoints that they are now connected to the sending node, by bindings with these numbers. */
export const EndpointsMoved = defineSignal<{ endpoints: [endpointId: string, number: number][] }>(
  'gateway.endpoints-moved',
)

/** Informs the previous node of clients that they have connected to the sending node. */
export const SessionsClaimed = defineSignal<{ claims: Claim[] }>('gateway.sessions-claimed')

/** Informs the claiming node that the state of these sessions is written. */
export const SessionsReleased = defineSignal<{ keys: string[] }>('gateway.sessions-released')

/** Informs the node of connected clients that messages were queued in their sessions. */
export const MessagesQueued = defineSignal<{ keys: string[] }>('gateway.messages-queued')

/** Informs all nodes that devices have stopped or restarted pushes; without ids, any device may have. */
export const ObservationsChanged = defineSignal<{ endpointIds?: string[] }>('gateway.observations-changed')

/** Forwards a push to the node that has the connection of the endpoint. */
export const PushForwarded = defineSignal<{
  id: string
  endpointId: string
  /** The push: plain in a signal that is sent immediately, `sealed` in one that is stored in a row, because it may hold secrets. */
  push?: Push
  sealed?: string
  /** The node that waits for the outcome. */
  sender: string
  /** Number of nodes that forwarded the push before. */
  hops: number
}>('gateway.push-forwarded')

/** Reports the outcome of a push to the node that sent it. */
export const PushSettled = defineSignal<{ id: string; delivery: Delivery }>('gateway.push-settled')
