import { defineRequest, defineSignal } from '../../../kernel/signals.ts'

/** Signals that sessions have no node, because a node died, stopped or restarted. */
export const SessionsFree = defineSignal<Record<never, never>>('lorawan.sessions-free')

/** Informs the node that has the session that these endpoints have new commands. */
export const DownlinksWaiting = defineSignal<{ appIntegrationId: number; endpointIds: string[] }>(
  'lorawan.downlinks-waiting',
)

/** Makes the node that has the session publish a command with `commandTtl=0`. */
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
