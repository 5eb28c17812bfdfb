/** Handles messages of identified endpoints: rate limits, dispatch, response. */

import type { DeviceConnection, Route } from '../connection-state.ts'
import type { Arrival, Reply } from '../dispatch.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { countTraffic } from '../rate-limits.ts'
import { readTail } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { publishCodeOf, rejectTopic } from './refusals.ts'
import { responseQos, withIdentifiers } from './subscribed.ts'
import { lookupsMax } from './subscriptions.ts'

export type Acknowledged = Promise<PublishCode | undefined> | PublishCode | undefined

/** A message with its connection and the original packet, which the response needs. */
interface Arrived extends Arrival {
  destination: Route
  connection: DeviceConnection
  message: Message
}

/** Maximum time for which reading from a connection is paused. */
const slowDownMaxMs = 60_000

/** Stops reading the connection for a while: MQTT 3.1.1 has no other answer to a client that is too fast. */
export function slowDown(connection: DeviceConnection, ms: number) {
  const state = connection.state
  if (state.isSlowedDown) return
  state.isSlowedDown = true
  connection.pause()
  setTimeout(
    () => {
      state.isSlowedDown = false
      if (connection.open && state.pendingLookups < lookupsMax) connection.resume()
    },
    Math.min(slowDownMaxMs, Math.max(5, ms)),
  ).unref()
}

export function handleMessage(
  parts: HostParts,
  connection: DeviceConnection,
  destination: Route,
  message: Message,
  arrivedAt: number,
): Acknowledged {
  const { payload } = message
  const waitMs = countTraffic(destination.binding.tenant.traffic, parts.tenantRate, arrivedAt, payload.length)
  if (waitMs > 0) slowDown(connection, waitMs)
  const tail = readTail(message.topic, destination.prefix.length)
  if (typeof tail === 'string') return rejectTopic(parts, connection, message, tail)
  const { transport } = connection.client
  return parts.dispatch({ destination, tail, payload, transport, arrivedAt, connection, message }, respond)
}

function respond({ connection, destination, message }: Arrived, reply: Reply): PublishCode | undefined {
  sendResponse(connection, destination, message, reply)
  if (reply.statusCode < 400) return undefined
  // Before MQTT 5 there is no negative acknowledgement. Closing the connection makes the client send the message again. A message that
  // caused a 500 is acknowledged, because the client would otherwise send it again for ever.
  if (reply.statusCode === 503 && message.qos > 0 && connection.client.protocolVersion < 5)
    throw new Error('storing the message failed')
  return publishCodeOf(reply.statusCode)
}

function sendResponse(
  connection: DeviceConnection,
  { prefix, endpointTokenId: recipientId }: Route,
  message: Message,
  reply: Reply,
) {
  const { topic, qos, properties } = message
  const isError = reply.statusCode >= 400
  // A response topic of MQTT 5 must belong to the endpoint.
  const responseTopic = properties?.responseTopic?.startsWith(`${prefix}/`) ? properties.responseTopic : undefined
  if (!reply.isSent && (responseTopic === undefined || isError)) return
  const responseTo = isError ? `${topic}/error` : (responseTopic ?? `${topic}/status`)
  const correlationData = properties?.correlationData
  const { subscriptions } = connection.state
  const response: Message = {
    topic: responseTo,
    payload: reply.payload,
    qos: responseQos(subscriptions, responseTo, qos),
    recipientId,
    ...(correlationData !== undefined && { properties: { correlationData } }),
  }
  connection.send(withIdentifiers(subscriptions, response))
}
