/** Subscriptions bind the endpoints that they name to the connection, unless another connection has them. */
import { isRefused } from '../identify.ts'
import type { Qos, Subscription } from '../mqtt/host.ts'
import type { Device } from '../peers.ts'
import { endpointOfFilter, shownIn, type Topic } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { authenticationRequired, countGuess, refuse, tooManyGuesses } from './refusals.ts'
import { inTurn, introduce } from './routes.ts'

/** A connection is not read while so many endpoints of its subscriptions are still looked up. */
export const lookupsMax = 1000

/** Pushes are sent at most once or at least once; QoS 2 is granted as 1. */
export const grantedQos = (asked: Qos): Qos => (asked > 1 ? 1 : asked)

export function noteSubscriptions({ state: peer }: Device, subscriptions: Subscription[]) {
  if (subscriptions.length === 0) return
  peer.subscriptions ??= new Map()
  for (const { filter, qos } of subscriptions) peer.subscriptions.set(filter, grantedQos(qos))
}

export function awaitPushes(parts: HostParts, connection: Device, subscriptions: Subscription[]) {
  const peer = connection.state
  noteSubscriptions(connection, subscriptions)
  const named = new Map<string, Topic>()
  for (const { filter } of subscriptions) {
    const topic = endpointOfFilter(filter)
    if (topic) named.set(`${topic.versionName}/${topic.token}`, topic)
  }
  for (const topic of named.values())
    inTurn(connection, () => bindSubscriber(parts, connection, topic))
      .catch((error) => parts.log.warn({ err: error }, 'who subscribes could not be looked up'))
      .finally(() => {
        if (--peer.lookups === lookupsMax / 2 && !peer.slowed && connection.open) connection.resume()
      })
  peer.lookups += named.size
  if (peer.lookups >= lookupsMax) connection.pause()
}

async function bindSubscriber(parts: HostParts, connection: Device, topic: Topic): Promise<void> {
  const { guesses, identify, bindings } = parts
  const { state: peer, client } = connection
  while (connection.open) {
    if (guesses.lockedFor(client.address, shownIn(topic)) > 0) {
      refuse(parts, connection, { reason: tooManyGuesses }, topic)
      return
    }
    const who = await identify(topic, { transport: client.transport, shown: peer.shown })
    if (isRefused(who)) {
      refuse(parts, connection, who, topic)
      if (who.guess) countGuess(parts, connection, topic)
      if (who.close) connection.close('not_authorized', authenticationRequired)
      return
    }
    if (!identify.isCurrent(who)) continue
    // The client has left, but its session may be kept: pushes for the endpoint wait there.
    if (!connection.open) return void bindings.visit(connection, who)
    introduce(parts, connection, topic, who)
    bindings.bind(connection, who, false)
    return
  }
}
