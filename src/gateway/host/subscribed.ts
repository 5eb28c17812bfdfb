/** Derives QoS and identifiers of sent messages from the subscriptions of the connection. Messages are sent without a subscription too. */
import type { Message, Qos, Subscription } from '../mqtt/host.ts'
import { filterMatches } from '../topic.ts'

/**
 * The subscriptions of a connection. A client that represents many devices has thousands of subscriptions. While a flag is false, the
 * filters need not be compared with the topic.
 */
export interface Subscribed {
  byFilter: Map<string, { qos: Qos; identifier: number | undefined }>
  /** True if a subscription was ever granted QoS 0. */
  hasQos0: boolean
  /** True if a subscription ever had an identifier (MQTT 5). */
  hasIdentifiers: boolean
}

/** Returns the granted QoS. Pushes are sent with QoS 0 or 1, so QoS 2 is granted as 1. */
export const grantedQos = (requested: Qos): Qos => (requested > 1 ? 1 : requested)

export const noSubscriptions = (): Subscribed => ({ byFilter: new Map(), hasQos0: false, hasIdentifiers: false })

export function addSubscriptions(subscribed: Subscribed, subscriptions: Subscription[]) {
  for (const { filter, qos, subscriptionIdentifier: identifier } of subscriptions) {
    subscribed.byFilter.set(filter, { qos: grantedQos(qos), identifier })
    if (qos === 0) subscribed.hasQos0 = true
    if (identifier !== undefined) subscribed.hasIdentifiers = true
  }
}

/** Returns the QoS of a push: the greatest QoS of the matching subscriptions, or 0 if no subscription matches. */
export function pushQos(subscribed: Subscribed | undefined, topic: string): Qos {
  if (subscribed)
    for (const [filter, { qos }] of subscribed.byFilter) if (qos > 0 && filterMatches(filter, topic)) return qos
  return 0
}

/** Returns the QoS of a response: 0 if subscriptions match and all of them were granted QoS 0, otherwise the QoS of the request. */
export function responseQos(subscribed: Subscribed | undefined, topic: string, requested: Qos): Qos {
  if (!subscribed?.hasQos0 || requested === 0) return requested
  let isMatched = false
  for (const [filter, { qos }] of subscribed.byFilter)
    if (filterMatches(filter, topic)) {
      if (qos > 0) return requested
      isMatched = true
    }
  return isMatched ? 0 : requested
}

/** Adds the identifiers of the matching subscriptions (MQTT 5, 3.3.2.3.8). */
export function withIdentifiers(subscribed: Subscribed | undefined, message: Message): Message {
  if (!subscribed?.hasIdentifiers) return message
  const identifiers: number[] = []
  for (const [filter, { identifier }] of subscribed.byFilter)
    if (identifier !== undefined && filterMatches(filter, message.topic)) identifiers.push(identifier)
  if (identifiers.length === 0) return message
  return { ...message, properties: { ...message.properties, subscriptionIdentifier: identifiers } }
}
