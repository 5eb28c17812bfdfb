/** A message whose endpoint is known: rates, dispatch, answer. */
import type { Arrival, Reply } from '../dispatch.ts'
import { count } from '../limits.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import type { Device, Route } from '../peers.ts'
import { readTail } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { codeOf, rejectTopic } from './refusals.ts'
import { lookupsMax } from './subscriptions.ts'

export type Acknowledged = Promise<PublishCode | undefined> | PublishCode | undefined

/** What is needed to answer a message. */
interface Arrived extends Arrival {
  to: Route
  connection: Device
  message: Message
}

/** The longest that a connection is not read. */
const slowestMs = 60_000

/** Stops reading the connection for a while: MQTT 3.1.1 has no other answer to a client that is too fast. */
export function slowDown(connection: Device, ms: number) {
  const peer = connection.state
  if (peer.slowed) return
  peer.slowed = true
  connection.pause()
  setTimeout(
    () => {
      peer.slowed = false
      if (connection.open && peer.lookups < lookupsMax) connection.resume()
    },
    Math.min(slowestMs, Math.max(5, ms)),
  ).unref()
}

export function handle(parts: HostParts, connection: Device, to: Route, message: Message, at: number): Acknowledged {
  const { payload } = message
  const wait = count(to.presence.tenant.traffic, parts.tenantRate, at, payload.length)
  if (wait > 0) slowDown(connection, wait)
  const tail = readTail(message.topic, to.prefix.length)
  if (typeof tail === 'string') return rejectTopic(parts, connection, message, tail)
  const { transport } = connection.client
  return parts.dispatch({ to, tail, payload, transport, at, connection, message }, conclude)
}

function conclude({ connection, to, message }: Arrived, reply: Reply): PublishCode | undefined {
  answer(connection, to, message, reply)
  if (reply.statusCode < 400) return undefined
  // Before MQTT 5 an error cannot be acknowledged: closing the connection makes the client send again what was not stored.
  // 500 is acknowledged, because such a message would come again for ever.
  if (reply.statusCode === 503 && message.qos > 0 && connection.client.protocolVersion < 5)
    throw new Error('what the device sent could not be stored')
  return codeOf(reply.statusCode)
}

function answer(connection: Device, { prefix, endpointTokenId: about }: Route, message: Message, reply: Reply) {
  const { topic, qos, properties } = message
  const failed = reply.statusCode >= 400
  // MQTT 5: only to topics that are the endpoint's own.
  const asked = properties?.responseTopic?.startsWith(`${prefix}/`) ? properties.responseTopic : undefined
  if (!reply.wanted && (asked === undefined || failed)) return
  const to = failed ? `${topic}/error` : (asked ?? `${topic}/status`)
  const correlationData = properties?.correlationData
  connection.send(
    correlationData === undefined
      ? { topic: to, payload: reply.payload, qos, about }
      : { topic: to, payload: reply.payload, qos, properties: { correlationData }, about },
  )
}
