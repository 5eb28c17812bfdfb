/** Connects the MQTT layer with the gateway: passes messages to dispatch.ts and sends its responses. */
import { monotonicMs } from '../kernel/clock.ts'
import { createAnonymousTimeout } from './anonymous-timeout.ts'
import { slotOf } from './connection-limits.ts'
import { type ConnectionState, hasPresentedToken, newPeer, routeFor } from './connection-state.ts'
import { handle, slowDown } from './host/messages.ts'
import type { HostDeps, HostParts } from './host/parts.ts'
import { refuse } from './host/refusals.ts'
import { resolve, runInOrder } from './host/routes.ts'
import { awaitPushes, grantedQos, noteSubscriptions } from './host/subscriptions.ts'
import type { Host } from './mqtt/host.ts'
import { count, trafficRate } from './rate-limits.ts'
import { endpointOfFilter } from './topic.ts'

const unidentified = 'it has presented neither credentials nor a valid token'

export function createHost(deps: HostDeps): Host<ConnectionState> {
  const { settings, clients, bindings, limits, metrics } = deps
  const perConnection = trafficRate(settings.messagesPerConnection, settings.bytesPerConnection)
  const anonymousTimeout = createAnonymousTimeout(settings.anonymousSeconds, (connection) => {
    refuse(deps, connection, {
      reason: 'stranger_timeout',
      detail: `${unidentified} within ${settings.anonymousSeconds} s`,
    })
    connection.close('not_authorized', unidentified)
  })
  const parts: HostParts = { ...deps, perConnection, anonymousTimeout }

  return {
    connect: (client) => clients.admit(client),

    connected(connection, { subscriptions }) {
      connection.state = newPeer(clients.authenticationOf(connection.client), perConnection)
      const slot = slotOf(connection)
      limits.opened(slot)
      if (connection.state.isIdentified) limits.setStanding(slot, 'protected')
      else anonymousTimeout.start(connection)
      metrics.connected(connection.client.transport, 1)
      parts.opened(connection)
      // Subscriptions of an earlier connection prove nothing about an anonymous client (document 5, 10.2).
      if (connection.state.authentication) awaitPushes(parts, connection, subscriptions)
      else noteSubscriptions(connection, subscriptions)
    },

    publish(connection, message) {
      const state = connection.state
      const at = monotonicMs()
      const wait = count(state.traffic, perConnection, at, message.payload.length)
      if (wait > 0) slowDown(connection, wait)
      if (state.waiting === undefined) {
        const known = routeFor(connection, message.topic)
        if (known !== undefined) return handle(parts, connection, known, message, at)
      }
      return runInOrder(connection, () => resolve(parts, connection, message)).then((found) =>
        typeof found === 'object' ? handle(parts, connection, found, message, monotonicMs()) : found,
      )
    },

    subscribe(connection, subscriptions) {
      awaitPushes(parts, connection, subscriptions)
      return subscriptions.map(({ qos }) => grantedQos(qos))
    },

    unsubscribe(connection, filters) {
      for (const filter of filters) connection.state.subscriptions?.delete(filter)
    },

    mayDeliver: parts.mayDeliver,

    // An anonymous client could otherwise test thousands of tokens in one UNSUBSCRIBE.
    concealsSubscription: ({ state }, filter) => !state.authentication && endpointOfFilter(filter) !== undefined,

    mustWait({ state, client }, { about }) {
      // There is no state before CONNACK.
      if (!state) return clients.authenticationOf(client) === undefined
      return !state.authentication && (about === undefined || !hasPresentedToken(state, about))
    },

    disconnected(connection) {
      const { state, client } = connection
      bindings.release(connection)
      if (!state.isIdentified) anonymousTimeout.cancel(connection)
      metrics.connected(client.transport, -1)
      parts.closed(connection)
    },

    refused({ transport, address, clientId, username, tenantId }, reason, detail) {
      metrics.refused(reason)
      parts.trafficLog.recordRefusal({
        transport,
        address,
        reason,
        ...(clientId !== undefined && { clientId }),
        ...(username !== undefined && { username }),
        ...(detail !== undefined && { detail }),
        ...(tenantId === undefined ? tenantOf(username) : { tenantId }),
      })
    },
  }
}

/** Returns the tenant in the username, whose administrators may read about the refused login. */
function tenantOf(username: string | undefined): { tenantId?: string } {
  const at = username?.lastIndexOf('@') ?? -1
  return at < 1 ? {} : { tenantId: username!.slice(at + 1) }
}
