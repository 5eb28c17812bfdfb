import { defineEvent } from '../kernel/bus.ts'
import type { Push } from '../kernel/device.ts'

interface OfEndpoints {
  tenantId: string
  applicationName: string
  endpointIds: string[]
  /** ISO 8601. */
  at: string
  /** The process that has, or had, the connections. */
  nodeId: string
}

// What happens to one endpoint is told in order; applications do not wait for each other.
const key = ({ applicationName }: { applicationName: string }) => applicationName

export const EndpointsConnected = defineEvent<OfEndpoints>('gateway.endpoints.connected', {
  description: 'Endpoints have a connection now, or moved to another one (9/ELCE), up to 100 in one event',
  key,
})

export const EndpointsDisconnected = defineEvent<OfEndpoints>('gateway.endpoints.disconnected', {
  description:
    'Endpoints have no connection any more (9/ELCE): it ended, or the token did, or they speak over another one; up to 100 ' +
    'in one event',
  key,
})

export const PushForwarded = defineEvent<{
  tenantId: string
  endpointId: string
  nodeId: string
  /** Or, where it is large, the row in which it waits. */
  push?: Push
  pushId?: string
  /** How many processes had it before. */
  hops: number
}>('gateway.push.forwarded', {
  description: 'For the process that has the connection of the endpoint: what it is to say',
  key: ({ endpointId }) => endpointId,
})

export const SessionsClaimed = defineEvent<{
  tenantId: string
  nodeId: string
  claims: { key: string; claim: number; clean: boolean }[]
}>('gateway.sessions.claimed', {
  description: 'For the other processes: MQTT clients have connected here, their sessions there end',
  key: ({ nodeId }) => nodeId,
})

export const SessionsReleased = defineEvent<{ tenantId: string; nodeId: string; keys: string[] }>(
  'gateway.sessions.released',
  {
    description: 'For the process that claimed them: what these MQTT sessions hold is written down',
    key: ({ nodeId }) => nodeId,
  },
)

export const MessagesQueued = defineEvent<{ tenantId: string; nodeId: string; keys: string[] }>(
  'gateway.messages.queued',
  {
    description:
      'For the other processes: messages wait in these MQTT sessions, whose clients may have connected there',
    key: ({ nodeId }) => nodeId,
  },
)
