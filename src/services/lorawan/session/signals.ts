import { defineRequest, defineSignal } from '../../../kernel/signals.ts'

/** Signals that sessions have no node, because a node died, stopped or restarted. */
export const SessionsFree = defineSignal<Record<never, never>>('lorawan.sessions-free')

/** Sent to the node that has the session of these endpoints: new commands wait for the endpoints. */
export const DownlinksWaiting = defineSignal<{ appIntegrationId: number; endpointIds: string[] }>(
  'lorawan.downlinks-waiting',
)

/** Asks the node with the session of an endpoint to publish a command with `commandTtl=0`. The answer is the result of `Downlinks.once`. */
export const DownlinkOnce = defineRequest<
  {
    tenantId: string
    endpointId: string
    appIntegrationId: number
    id: number
    type: string
    payload: string | null
  },
  boolean
>('lorawan.downlink-once')
