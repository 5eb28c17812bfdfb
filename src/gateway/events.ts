import { defineEvent } from '../kernel/bus.ts'

interface EndpointsPayload {
  tenantId: string
  applicationName: string
  endpointIds: string[]
  /** ISO 8601. */
  at: string
  /** The node that has, or had, the connections. */
  nodeId: string
}

// Events of one application are delivered in order. Events of different applications do not wait for each other.
const key = ({ applicationName }: { applicationName: string }) => applicationName

export const EndpointsConnected = defineEvent<EndpointsPayload>('gateway.endpoints.connected', {
  description: 'Endpoints got a connection, or moved to another connection (9/ELCE); up to 100 in one event',
  key,
  bulky: true,
})

export const EndpointsDisconnected = defineEvent<EndpointsPayload>('gateway.endpoints.disconnected', {
  description:
    'Endpoints lost their connection (9/ELCE): the connection ended, their token became invalid, or they use another ' +
    'connection; up to 100 in one event',
  key,
  bulky: true,
})
