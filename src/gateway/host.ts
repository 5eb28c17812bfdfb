/** MQTT's end of the gateway: packets become messages for dispatch.ts, and its answers become packets. */
import { monotonicMs } from '../kernel/clock.ts'
import { slotOf } from './connection-limits.ts'
import { handle, slowDown } from './host/messages.ts'
import type { HostDeps, HostParts } from './host/parts.ts'
import { refuse } from './host/refusals.ts'
import { inTurn, resolve } from './host/routes.ts'
import { awaitPushes, grantedQos, noteSubscriptions } from './host/subscriptions.ts'
import { count, trafficRate } from './limits.ts'
import type { Host } from './mqtt/host.ts'
import { createPatience } from './patience.ts'
import { hasPresented, newPeer, type Peer, routeFor } from './peers.ts'
import { endpointOfFilter } from './topic.ts'

const unnamed = 'it has shown neither credentials nor a valid token'

export function createHost(deps: HostDeps): Host<Peer> {
  const { settings, clients, bindings, limits, metrics } = deps
  const perConnection = trafficRate(settings.messagesPerConnection, settings.bytesPerConnection)
  const patience = createPatience(settings.strangerSeconds, (stranger) => {
    refuse(deps, stranger, { reason: 'stranger_timeout', detail: `${unnamed} within ${settings.strangerSeconds} s` })
    stranger.close('not_authorized', unnamed)
  })
  const parts: HostParts = { ...deps, perConnection, patience }

  return {
    connect: (client) => clients.admit(client),

    connected(connection, { subscriptions }) {
      connection.state = newPeer(clients.shownBy(connection.client), perConnection)
      const slot = slotOf(connection)
      limits.opened(slot)
      if (connection.state.known) limits.stands(slot, 'protected')
      else patience.with(connection)
      metrics.connected(connection.client.transport, 1)
      parts.opened(connection)
      // Subscriptions of an earlier connection prove nothing about an anonymous client (document 5, 10.2).
      if (connection.state.shown) awaitPushes(parts, connection, subscriptions)
      else noteSubscriptions(connection, subscriptions)
    },

    publish(connection, message) {
      const peer = connection.state
      const at = monotonicMs()
      const wait = count(peer.traffic, perConnection, at, message.payload.length)
      if (wait > 0) slowDown(connection, wait)
      if (peer.waiting === undefined) {
        const known = routeFor(connection, message.topic)
        if (known !== undefined) return handle(parts, connection, known, message, at)
      }
      return inTurn(connection, () => resolve(parts, connection, message)).then((found) =>
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
    concealsSubscription: ({ state: peer }, filter) => !peer.shown && endpointOfFilter(filter) !== undefined,

    mustWait({ state: peer, client }, { about }) {
      // While CONNECT is being answered there is no state yet.
      if (!peer) return clients.shownBy(client) === undefined
      return !peer.shown && (about === undefined || !hasPresented(peer, about))
    },

    disconnected(connection) {
      const { state: peer, client } = connection
      bindings.release(connection)
      if (!peer.known) patience.done(connection)
      metrics.connected(client.transport, -1)
      parts.closed(connection)
    },

    refused({ transport, address, clientId, username, tenantId }, reason, detail) {
      metrics.refused(reason)
      parts.trafficLog.refuse({
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

/** The tenant that a username names; refused logins are shown to it. */
function tenantOf(username: string | undefined): { tenantId?: string } {
  const at = username?.lastIndexOf('@') ?? -1
  return at < 1 ? {} : { tenantId: username!.slice(at + 1) }
}
