/** Connects the MQTT layer with the gateway: passes messages to dispatch.ts and sends its responses. */
import { monotonicMs } from '../kernel/clock.ts'
import { createAnonymousTimeout } from './anonymous-timeout.ts'
import { slotOf } from './connection-limits.ts'
import { type ConnectionState, findRoute, hasPresentedToken, newConnectionState } from './connection-state.ts'
import { handleMessage, slowDown } from './host/messages.ts'
import type { HostDeps, HostParts } from './host/parts.ts'
import { recordPacketFault, recordRefusal } from './host/refusals.ts'
import { resolveRoute, runInOrder } from './host/routes.ts'
import { grantedQos } from './host/subscribed.ts'
import { bindSubscribedEndpoints, lookUpEndpoints, recordSubscriptions } from './host/subscriptions.ts'
import type { Host } from './mqtt/host.ts'
import { countTraffic, trafficRate } from './rate-limits.ts'
import { endpointOfFilter } from './topic.ts'

/**
 * Faults of a packet that end the connection of the device. The packet may contain a message, which is lost; therefore the traffic log also
 * gets a refusal.
 */
const packetFaults = new Set(['packet_too_large', 'malformed_packet', 'protocol_error'])

const unidentifiedText = 'the client has presented neither credentials nor a valid token'

export function createHost(deps: HostDeps): Host<ConnectionState> {
  const { settings, clients, bindings, limits, metrics } = deps
  const perConnection = trafficRate(settings.messagesPerConnection, settings.bytesPerConnection)
  const anonymousTimeout = createAnonymousTimeout(settings.anonymousSeconds, (connection) => {
    recordRefusal(deps, connection, {
      reason: 'stranger_timeout',
      detail: `${unidentifiedText} within ${settings.anonymousSeconds} s`,
    })
    connection.close('not_authorized', unidentifiedText)
  })
  const parts: HostParts = { ...deps, perConnection, anonymousTimeout }

  return {
    connect: (client) => clients.authenticate(client),

    connected(connection, { subscriptions }) {
      connection.state = newConnectionState(clients.authenticationOf(connection.client), perConnection)
      const slot = slotOf(connection)
      limits.markConnected(slot)
      if (connection.state.isIdentified) limits.setEvictionClass(slot, 'protected')
      else anonymousTimeout.start(connection)
      metrics.countConnection(connection.client.transport, 1)
      parts.opened(connection)
      // An anonymous client may have taken over the session, so stored subscriptions bind no endpoints (document 5, 10.2).
      if (connection.state.authentication) bindSubscribedEndpoints(parts, connection, subscriptions)
      else recordSubscriptions(connection, subscriptions)
    },

    publish(connection, message) {
      const state = connection.state
      const at = monotonicMs()
      const waitMs = countTraffic(state.traffic, perConnection, at, message.payload.length)
      if (waitMs > 0) slowDown(connection, waitMs)
      if (state.identifying === undefined) {
        const route = findRoute(connection, message.topic)
        if (route !== undefined) return handleMessage(parts, connection, route, message, at)
      }
      return runInOrder(connection, () => resolveRoute(parts, connection, message)).then((found) =>
        typeof found === 'object' ? handleMessage(parts, connection, found, message, monotonicMs()) : found,
      )
    },

    subscribe(connection, subscriptions) {
      bindSubscribedEndpoints(parts, connection, subscriptions)
      return subscriptions.map(({ qos }) => grantedQos(qos))
    },

    unsubscribe(connection, filters) {
      for (const filter of filters) connection.state.subscriptions?.byFilter.delete(filter)
    },

    mayDeliver: parts.mayDeliver,

    // If the answer to UNSUBSCRIBE revealed whether a subscription exists, an anonymous client could test thousands of tokens with one
    // packet.
    concealsSubscription: ({ state }, filter) => !state.authentication && endpointOfFilter(filter) !== undefined,

    mustWait({ state, client }, { recipientId }) {
      // The connection has no state before CONNACK.
      if (!state) return clients.authenticationOf(client) === undefined
      return !state.authentication && (recipientId === undefined || !hasPresentedToken(state, recipientId))
    },

    disconnected(connection, { why, reason }) {
      const { state, client } = connection
      if (packetFaults.has(reason)) recordPacketFault(deps, connection, { reason, detail: why })
      for (const { connection: subscriber, topic } of bindings.release(connection, why))
        lookUpEndpoints(parts, subscriber, [topic])
      if (!state.isIdentified) anonymousTimeout.cancel(connection)
      metrics.countConnection(client.transport, -1)
      parts.closed(connection)
    },

    refused({ transport, address, clientId, username, tenantId }, reason, detail) {
      metrics.countRefusal(reason)
      parts.trafficLog.recordRefusal({
        transport,
        address,
        reason,
        ...(clientId !== undefined && { clientId }),
        ...(username !== undefined && { username }),
        ...(detail !== undefined && { detail }),
        ...(tenantId === undefined ? tenantInUsername(username) : { tenantId }),
      })
    },
  }
}

/** Returns the tenant that the username names. Administrators of this tenant may read the refusal in the traffic log. */
function tenantInUsername(username: string | undefined): { tenantId?: string } {
  const at = username?.lastIndexOf('@') ?? -1
  return at < 1 ? {} : { tenantId: username!.slice(at + 1) }
}
