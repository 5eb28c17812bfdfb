/** A subscription whose filter names an endpoint binds that endpoint to the connection, unless another connection has it. */

import type { DeviceConnection } from '../connection-state.ts'
import { isFailure } from '../identify.ts'
import { subscriberLookupFailed } from '../log-messages.ts'
import type { Subscription } from '../mqtt/host.ts'
import { endpointOfFilter, type Topic, tokenKeyOf } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { authenticationRequired, countWrongToken, recordRefusal, tooManyGuesses } from './refusals.ts'
import { acceptToken, runInOrder } from './routes.ts'
import { addSubscriptions, noSubscriptions } from './subscribed.ts'

/**
 * Back-pressure: at this number of endpoints that are still to be looked up for its subscriptions, a connection is not read until half of
 * them are done.
 */
export const lookupsMax = 1000

export function recordSubscriptions({ state }: DeviceConnection, subscriptions: Subscription[]) {
  if (subscriptions.length === 0) return
  state.subscriptions ??= noSubscriptions()
  addSubscriptions(state.subscriptions, subscriptions)
}

export function bindSubscribedEndpoints(parts: HostParts, connection: DeviceConnection, subscriptions: Subscription[]) {
  recordSubscriptions(connection, subscriptions)
  const topics = new Map<string, Topic>()
  for (const { filter } of subscriptions) {
    const topic = endpointOfFilter(filter)
    if (topic) topics.set(`${topic.versionName}/${topic.token}`, topic)
  }
  lookUpEndpoints(parts, connection, [...topics.values()])
}

/** Identifies the endpoints that subscriptions name, and binds the endpoints that no other connection represents. */
export function lookUpEndpoints(parts: HostParts, connection: DeviceConnection, topics: Topic[]) {
  const { state } = connection
  for (const topic of topics)
    runInOrder(connection, () => bindSubscriber(parts, connection, topic))
      .catch((error) => subscriberLookupFailed(parts.log, { err: error, clientId: connection.client.clientId }))
      .finally(() => {
        if (--state.pendingLookups === lookupsMax / 2 && !state.isSlowedDown && connection.open) connection.resume()
      })
  state.pendingLookups += topics.length
  if (state.pendingLookups >= lookupsMax) connection.pause()
}

async function bindSubscriber(parts: HostParts, connection: DeviceConnection, topic: Topic): Promise<void> {
  const { tokenLockout, identify, bindings } = parts
  const { state, client } = connection
  while (connection.open) {
    if (tokenLockout.lockedSeconds(client.address, tokenKeyOf(topic)) > 0) {
      recordRefusal(parts, connection, { reason: tooManyGuesses }, topic)
      return
    }
    const identified = await identify(topic, { transport: client.transport, authentication: state.authentication })
    if (isFailure(identified)) {
      recordRefusal(parts, connection, identified, topic)
      if (identified.countsForLockout) countWrongToken(parts, connection, topic)
      if (identified.close) connection.close('not_authorized', authenticationRequired)
      return
    }
    if (!identify.isCurrent(identified)) continue
    // The client has disconnected. The report stores its session with the endpoint, so that pushes can be queued in the session.
    if (!connection.open) return void bindings.reportTransient(connection, identified)
    acceptToken(parts, connection, topic, identified)
    bindings.bind(connection, identified, false)
    return
  }
}
