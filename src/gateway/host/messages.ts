/** Handles messages of identified endpoints: rate limits, dispatch, response. */

import type { DeviceConnection, Route } from '../connection-state.ts'
import type { Arrival, Reply } from '../dispatch.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { count } from '../rate-limits.ts'
import { readTail } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { codeOf, rejectTopic } from './refusals.ts'
import { lookupsMax } from './subscriptions.ts'

export type Acknowledged = Promise<PublishCode | undefined> | PublishCode | undefined

/** A message with what its response needs. */
interface Arrived extends Arrival {
  to: Route
  connection: DeviceConnection
  message: Message
}

/** Limits how long a connection is not read. */
const slowestMs = 60_000

/** Stops reading the connection for a while: MQTT 3.1.1 has no other answer to a client that is too fast. */
export function slowDown(connection: DeviceConnection, ms: number) {
  const state = connection.state
  if (state.slowed) return
  state.slowed = true
  connection.pause()
  setTimeout(
    () => {
      state.slowed = false
      if (connection.open && state.lookups < lookupsMax) connection.resume()
    },
    Math.min(slowestMs, Math.max(5, ms)),
  ).unref()
}

export function handle(
  parts: HostParts,
  connection: DeviceConnection,
  to: Route,
  message: Message,
  at: number,
): Acknowledged {
  const { payload } = message
  const wait = count(to.binding.tenant.traffic, parts.tenantRate, at, payload.length)
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
    throw new Error('storing the message failed')
  return codeOf(reply.statusCode)
}

function answer(
  connection: DeviceConnection,
  { prefix, endpointTokenId: about }: Route,
  message: Message,
  reply: Reply,
) {
  const { topic, qos, properties } = message
  const failed = reply.statusCode >= 400
  // A response topic of MQTT 5 must belong to the endpoint.
  const asked = properties?.responseTopic?.startsWith(`${prefix}/`) ? properties.responseTopic : undefined
  if (!reply.isSent && (asked === undefined || failed)) return
  const to = failed ? `${topic}/error` : (asked ?? `${topic}/status`)
  const correlationData = properties?.correlationData
  connection.send(
    correlationData === undefined
      ? { topic: to, payload: reply.payload, qos, about }
      : { topic: to, payload: reply.payload, qos, properties: { correlationData }, about },
  )
}
