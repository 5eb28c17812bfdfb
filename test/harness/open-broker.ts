/**
 * MQTT broker for conformance suites: the session layer of the platform with plain topic routing and without authentication.
 * Start it with `tools/run test/harness/open-broker.ts 1885`.
 */
import { createServer } from 'node:net'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import type { Connection, Host, Message, Qos, Sessions, Subscription } from '../../src/gateway/mqtt/host.ts'
import { defaultLimits, type Limits } from '../../src/gateway/mqtt/limits.ts'
import { createMemoryStore } from '../../src/gateway/mqtt/memory-store.ts'
import { createSessions, readIntoSharedBuffer } from '../../src/gateway/mqtt/sessions.ts'
import { isShared, matches } from '../../src/gateway/mqtt/topics.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { createTopicTree } from './topic-tree.ts'

/** Returns the copy of a message for a session. A session gets only one copy, even if several of its subscriptions match. */
function copyFor(message: Message, subscriptions: Subscription[]): Message {
  const qos = Math.min(message.qos, Math.max(...subscriptions.map((subscription) => subscription.qos))) as Qos
  const identifiers = subscriptions.flatMap(({ subscriptionIdentifier }) => subscriptionIdentifier ?? [])
  const retain = message.retain === true && subscriptions.some(({ retainAsPublished }) => retainAsPublished)
  const properties = {
    ...message.properties,
    ...(identifiers.length > 0 ? { subscriptionIdentifier: identifiers } : {}),
  }
  const { topic, payload } = message
  return { topic, payload, qos, retain, ...(Object.keys(properties).length > 0 ? { properties } : {}) }
}

export function createOpenHost(deliver: Sessions['deliver']): Host {
  const tree = createTopicTree()
  const retained = new Map<string, { message: Message; at: number }>()
  const wills = new Map<string, { timer: NodeJS.Timeout; message: Message }>()
  const nextMember = new Map<string, number>()

  const deliverTo = async (key: string, message: Message) => {
    const outcome = await deliver(key, message)
    // For QoS 1 or 2, `gone` means that the session no longer exists. QoS 0 messages are never queued, so `gone` then only means that the
    // client is not connected.
    if (outcome === 'gone' && message.qos > 0) tree.removeAll(key)
    return outcome
  }

  function route(message: Message, publisher?: string): Promise<unknown>[] {
    const deliveries: Promise<unknown>[] = []
    const plain = new Map<string, Subscription[]>()
    const groups = new Map<string, { key: string; subscription: Subscription }[]>()
    const append = <T>(map: Map<string, T[]>, key: string, value: T) => map.set(key, [...(map.get(key) ?? []), value])
    for (const { key, subscription } of tree.find(message.topic))
      if (isShared(subscription.filter)) append(groups, subscription.filter, { key, subscription })
      else if (!(subscription.noLocal && publisher === key)) append(plain, key, subscription)
    for (const [key, subscriptions] of plain) deliveries.push(deliverTo(key, copyFor(message, subscriptions)))
    for (const [filter, members] of groups) {
      const memberIndex = nextMember.get(filter) ?? 0
      nextMember.set(filter, memberIndex + 1)
      const { key, subscription } = members[memberIndex % members.length]!
      deliveries.push(deliverTo(key, copyFor(message, [subscription])))
    }
    return deliveries
  }

  function publish(message: Message, publisher?: string) {
    if (message.retain) {
      const kept = { ...message, payload: Buffer.from(message.payload) }
      if (message.payload.length === 0) retained.delete(message.topic)
      else retained.set(message.topic, { message: kept, at: Date.now() })
    }
    return route(message, publisher)
  }

  function sendRetained(connection: Connection, subscription: Subscription) {
    for (const { message, at } of retained.values()) {
      if (!matches(subscription.filter, message.topic)) continue
      const copy = copyFor(message, [subscription])
      const interval = message.properties?.messageExpiryInterval
      if (interval !== undefined) {
        const left = interval - Math.floor((Date.now() - at) / 1000)
        if (left <= 0) continue
        copy.properties = { ...copy.properties, messageExpiryInterval: left }
      }
      connection.send({ ...copy, retain: true })
    }
  }

  return {
    connect: async () => ({ accepted: true, owner: 'anybody' }),
    connected({ sessionKey }, { present, subscriptions }) {
      const will = wills.get(sessionKey)
      if (will) {
        clearTimeout(will.timer)
        wills.delete(sessionKey)
        if (!present) publish(will.message)
      }
      if (!present) tree.removeAll(sessionKey)
      for (const subscription of subscriptions) tree.add(sessionKey, subscription)
    },
    publish({ sessionKey }, message) {
      const deliveries = publish(message, sessionKey)
      return Promise.all(deliveries).then(() => (deliveries.length === 0 && message.qos === 1 ? 0x10 : undefined))
    },
    subscribe(connection, subscriptions) {
      return subscriptions.map((subscription) => {
        const { filter, qos, retainHandling } = subscription
        if (filter === 'test/nosubscribe') return 0x80
        const known = tree.has(connection.sessionKey, filter)
        tree.add(connection.sessionKey, subscription)
        if (retained.size > 0 && !isShared(filter) && retainHandling !== 2 && !(retainHandling === 1 && known))
          setImmediate(sendRetained, connection, subscription)
        return qos
      })
    },
    unsubscribe({ sessionKey }, filters) {
      for (const filter of filters) tree.remove(sessionKey, filter)
    },
    disconnected({ client, sessionKey }, { graceful }) {
      if (client.sessionExpirySeconds === 0) tree.removeAll(sessionKey)
      if (graceful || !client.will) return
      const { delaySeconds, ...message } = client.will
      const seconds = Math.min(delaySeconds, client.sessionExpirySeconds)
      const timer = setTimeout(() => {
        wills.delete(sessionKey)
        publish(message)
      }, seconds * 1000)
      wills.set(sessionKey, { timer, message })
    },
    refused() {},
  }
}

/** Starts the broker on a port (0: any free port). */
export async function startOpenBroker(port = 0, { level = 'silent', limits = {} as Partial<Limits> } = {}) {
  const all = { ...defaultLimits, ...limits }
  // The host and the sessions need each other. The host therefore gets a function that reads `sessions` when it delivers a message.
  const host = createOpenHost((key, message) => sessions.deliver(key, message))
  const sessions: Sessions = createSessions(host, {
    store: createMemoryStore(all, systemClock),
    log: pino({ level }),
    limits: all,
    // Responses have no reason strings, because the conformance suites compare responses byte by byte.
    offers: { retainedMessages: true, sharedSubscriptions: true, reasonStrings: false },
  })
  const server = createServer((accepted) => {
    const socket = readIntoSharedBuffer(accepted)
    sessions.accept(socket, { transport: 'mqtt', address: socket.remoteAddress ?? '' })
  })
  await new Promise<void>((resolve) => server.listen(port, resolve))
  return {
    port: (server.address() as { port: number }).port,
    sessions,
    async close() {
      server.close()
      await sessions.close()
    },
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { port } = await startOpenBroker(Number(process.argv[2] ?? 1883), {
    level: 'error',
    limits: { receiveMaximum: 20, topicAliasMaximum: 10, keepAliveMaxSeconds: 60, sessionExpiryMaxSeconds: Infinity },
  })
  console.log(`MQTT on port ${port}, without authentication`)
}
