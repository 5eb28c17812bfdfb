/**
 * Remembers open connections that subscribe to an endpoint while another connection represents it, such as `mosquitto_sub` beside
 * `mosquitto_pub`. When the other connection closes, the newest of the subscribed connections represents the endpoint again. Each node has
 * its own list.
 */
import type { DeviceConnection } from './connection-state.ts'
import { endpointOfFilter, type Topic } from './topic.ts'

export interface WaitingSubscriber {
  connection: DeviceConnection
  topic: Topic
}

export interface WaitingSubscribers {
  /** Adds the connection, unless none of its subscriptions names this token. */
  add(connection: DeviceConnection, endpointId: string, token: string): void
  remove(connection: DeviceConnection, endpointId: string): void
  /** Removes a closed connection. */
  removeAll(connection: DeviceConnection): void
  /** Returns the newest connection that still subscribes to the endpoint. */
  find(endpointId: string): WaitingSubscriber | undefined
}

export function createWaitingSubscribers(): WaitingSubscribers {
  /** For each endpoint id, the connections that wait, in the order of their subscriptions, with the token that each subscribes to. */
  const tokens = new Map<string, Map<DeviceConnection, string>>()
  const endpoints = new WeakMap<DeviceConnection, Set<string>>()

  function remove(connection: DeviceConnection, endpointId: string) {
    const waiting = tokens.get(endpointId)
    if (!waiting?.delete(connection)) return
    if (waiting.size === 0) tokens.delete(endpointId)
    endpoints.get(connection)?.delete(endpointId)
  }

  return {
    add(connection, endpointId, token) {
      if (!connection.open || !subscribedTopic(connection, token)) return
      remove(connection, endpointId)
      tokens.set(endpointId, (tokens.get(endpointId) ?? new Map()).set(connection, token))
      endpoints.set(connection, (endpoints.get(connection) ?? new Set()).add(endpointId))
    },
    remove,
    removeAll(connection) {
      for (const endpointId of endpoints.get(connection) ?? []) remove(connection, endpointId)
    },
    find(endpointId) {
      for (const [connection, token] of [...(tokens.get(endpointId) ?? [])].reverse()) {
        const topic = connection.open ? subscribedTopic(connection, token) : undefined
        if (topic) return { connection, topic }
      }
      return undefined
    },
  }
}

/** Returns the parsed filter of a subscription of the connection that names this token. */
function subscribedTopic({ state }: DeviceConnection, token: string): Topic | undefined {
  for (const filter of state.subscriptions?.byFilter.keys() ?? []) {
    const topic = endpointOfFilter(filter)
    if (topic?.token === token) return topic
  }
  return undefined
}
