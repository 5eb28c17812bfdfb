/** What nodes say to each other about devices, always to the one node concerned. */
import type { Push } from '../kernel/device.ts'
import { defineSignal } from '../kernel/signals.ts'
import type { Delivery } from './contract.ts'

/** `clean`: what the session holds is not wanted. */
export interface Claim {
  key: string
  claim: number
  clean: boolean
}

/** To the node that had the endpoints: they have a connection at the sending node, by bindings with these numbers. */
export const EndpointsMoved = defineSignal<{ endpoints: [endpointId: string, number: number][] }>(
  'gateway.endpoints-moved',
)

/** To the node that had the clients: they have connected to the sending node. */
export const SessionsClaimed = defineSignal<{ claims: Claim[] }>('gateway.sessions-claimed')

/** To the node that claimed them: the state of these sessions is written. */
export const SessionsReleased = defineSignal<{ keys: string[] }>('gateway.sessions-released')

/** To the node that has the clients: messages were queued in their sessions. */
export const MessagesQueued = defineSignal<{ keys: string[] }>('gateway.messages-queued')

/** To the node that has the connection of the endpoint. */
export const PushForwarded = defineSignal<{
  id: string
  endpointId: string
  /** As it is, or sealed where the signal waits in a row: a push may hold secrets. */
  push?: Push
  sealed?: string
  /** The node that waits for the outcome. */
  sender: string
  /** Nodes that had it before. */
  hops: number
}>('gateway.push-forwarded')

/** To the node that sent the push. */
export const PushSettled = defineSignal<{ id: string; delivery: Delivery }>('gateway.push-settled')
