import { defineEvent } from '../kernel/bus.ts'

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
  bulky: true,
})

export const EndpointsDisconnected = defineEvent<OfEndpoints>('gateway.endpoints.disconnected', {
  description:
    'Endpoints have no connection any more (9/ELCE): it ended, or the token did, or they speak over another one; up to 100 ' +
    'in one event',
  key,
  bulky: true,
})
