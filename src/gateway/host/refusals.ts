/** Rejects messages: records the refusal, counts wrong tokens and sends the error. */

import { type Binding, type ConnectionState, type DeviceConnection, routesOf } from '../connection-state.ts'
import { describeError, errorPayload } from '../dispatch.ts'
import { TopicMalformed } from '../errors.ts'
import type { Failure } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { type Topic, type TopicProblem, tokenKeyOf, topicProblems } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { responseQos, withIdentifiers } from './subscribed.ts'

const countedTokensMax = 64
const topicNameInvalid = 0x90
export const tooManyGuesses = 'too_many_guesses'
/** The reason string that MQTT 5 clients get. */
export const authenticationRequired = 'clients must authenticate'

type Reason = Omit<Failure, 'error'>

/**
 * Returns the endpoint that sent a packet without a readable token, if the connection represents only one. If the connection represents
 * several endpoints of one tenant, returns only the tenant; an anonymous connection may also represent endpoints of several tenants.
 */
export const senderOf = ({ state }: DeviceConnection): Sender => commonSender([...boundEndpoints(state)])

type Sender = Pick<Reason, 'tenantId' | 'endpointId'>

function* boundEndpoints({ endpoints }: ConnectionState): Generator<Sender> {
  for (let binding: Binding | undefined = endpoints; binding; binding = binding.next)
    yield { tenantId: binding.tenant.tenantId, endpointId: binding.endpointId }
}

function commonSender([first = {}, ...others]: Sender[]): Sender {
  if (others.some(({ tenantId }) => tenantId !== first.tenantId)) return {}
  return others.some(({ endpointId }) => endpointId !== first.endpointId) ? { tenantId: first.tenantId! } : first
}

/**
 * Records that a fault of a packet has ended the connection. Called before the endpoints of the connection are released. If earlier messages
 * are still being identified, the refusal is recorded after that, because their endpoint is the sender of the packet.
 */
export function recordPacketFault(
  parts: Pick<HostParts, 'metrics' | 'trafficLog'>,
  connection: DeviceConnection,
  fault: Pick<Reason, 'reason' | 'detail'>,
) {
  const { state } = connection
  const bound = [...boundEndpoints(state)]
  const record = (late: Sender[]) =>
    recordRefusal(parts, connection, { ...fault, ...commonSender([...bound, ...late]) })
  if (!state.identifying) return record([])
  const known = new Set(routesOf(state))
  void state.identifying.then(() => {
    const late = routesOf(state).filter((route) => !known.has(route))
    record(late.map(({ endpoint }) => endpoint))
  })
}

/** Records a refusal; sends nothing to the client. */
export function recordRefusal(
  parts: Pick<HostParts, 'metrics' | 'trafficLog'>,
  connection: DeviceConnection,
  refusal: Reason,
  topic?: Topic,
) {
  const { reason, detail, tenantId, endpointId } = refusal
  const { client, state } = connection
  const knownTenantId = tenantId ?? state.authentication?.tenantId
  parts.metrics.countRefusal(reason)
  parts.trafficLog.recordRefusal({
    transport: client.transport,
    address: client.address,
    clientId: client.clientId,
    reason,
    ...(knownTenantId !== undefined && { tenantId: knownTenantId }),
    ...(client.username !== undefined && { username: client.username }),
    ...(topic && { versionName: topic.versionName }),
    ...(endpointId !== undefined && { endpointId }),
    ...(detail !== undefined && { detail }),
  })
}

/** Counts a wrong token in the lockout, each token once for a connection. */
export function countWrongToken({ tokenLockout }: HostParts, { state, client }: DeviceConnection, topic: Topic) {
  const tokenKey = tokenKeyOf(topic)
  if (state.countedTokens?.has(tokenKey)) return
  tokenLockout.recordFailure(client.address, tokenKey)
  state.countedTokens ??= new Set()
  if (state.countedTokens.size < countedTokensMax) state.countedTokens.add(tokenKey)
}

/** Records a rejected message and sends the error. */
export function rejectMessage(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
  failure: Failure,
  topic?: Topic,
): PublishCode {
  recordRefusal(parts, connection, failure, topic)
  if (failure.countsForLockout && topic) countWrongToken(parts, connection, topic)
  const error = describeError(failure.error)
  const { subscriptions } = connection.state
  const errorTopic = `${message.topic}/error`
  const qos = responseQos(subscriptions, errorTopic, message.qos)
  const response = { topic: errorTopic, payload: errorPayload(error), qos }
  connection.send(withIdentifiers(subscriptions, response))
  if (failure.close) connection.close('not_authorized', authenticationRequired)
  return publishCodeOf(error.statusCode)
}

export function rejectTopic(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
  problem: TopicProblem,
): PublishCode {
  if (problem !== 'foreign')
    return rejectMessage(parts, connection, message, {
      error: TopicMalformed({ problem: topicProblems[problem] }),
      reason: `topic_${problem}`,
      ...senderOf(connection),
    })
  // Topics outside `kp1/` get no error message. The topic is not recorded, because a topic with a misspelt start may contain a token.
  const refusal = { reason: 'topic_foreign', detail: topicProblems.foreign, ...senderOf(connection) }
  recordRefusal(parts, connection, refusal)
  return topicNameInvalid
}

/** Returns the reason code of the acknowledgement for an HTTP status. Only MQTT 5 clients get reason codes. */
export function publishCodeOf(status: number): PublishCode {
  if (status >= 500) return 0x80
  if (status === 401 || status === 403) return 0x87
  if (status === 404) return 0x90
  return status === 429 ? 0x97 : 0x99
}
