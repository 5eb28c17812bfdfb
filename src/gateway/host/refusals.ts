/** Rejects messages and refuses connections: records them, counts wrong tokens, sends the error. */

import type { DeviceConnection } from '../connection-state.ts'
import { describeError, errorPayload } from '../dispatch.ts'
import { TopicMalformed } from '../errors.ts'
import type { Refused } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { type Topic, type TopicProblem, tokenKeyOf, topicProblems } from '../topic.ts'
import type { HostParts } from './parts.ts'

const refusedMax = 64
const notRouted = 0x10
export const tooManyGuesses = 'too_many_guesses'
/** The reason string that MQTT 5 clients get. */
export const authenticationRequired = 'clients have to authenticate here'

type Reason = Omit<Refused, 'error'>

/** Records a refusal; sends nothing to the client. */
export function refuse(
  parts: Pick<HostParts, 'metrics' | 'trafficLog'>,
  connection: DeviceConnection,
  why: Reason,
  topic?: Topic,
) {
  const { reason, detail, tenantId } = why
  const { client, state } = connection
  const known = tenantId ?? state.authentication?.tenantId
  parts.metrics.refused(reason)
  parts.trafficLog.recordRefusal({
    transport: client.transport,
    address: client.address,
    clientId: client.clientId,
    reason,
    ...(known !== undefined && { tenantId: known }),
    ...(client.username !== undefined && { username: client.username }),
    ...(topic && { versionName: topic.versionName }),
    ...(detail !== undefined && { detail }),
  })
}

/** Counts a wrong token in the lockout, each token once for a connection. */
export function countWrongToken({ tokenLockout }: HostParts, { state, client }: DeviceConnection, topic: Topic) {
  const tokenKey = tokenKeyOf(topic)
  if (state.refused?.has(tokenKey)) return
  tokenLockout.failed(client.address, tokenKey)
  state.refused ??= new Set()
  if (state.refused.size < refusedMax) state.refused.add(tokenKey)
}

/** Records a rejected message and sends the error. */
export function reject(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
  refused: Refused,
  topic?: Topic,
): PublishCode {
  refuse(parts, connection, refused, topic)
  if (refused.countsForLockout && topic) countWrongToken(parts, connection, topic)
  const error = describeError(refused.error)
  connection.send({ topic: `${message.topic}/error`, payload: errorPayload(error), qos: message.qos })
  if (refused.close) connection.close('not_authorized', authenticationRequired)
  return codeOf(error.statusCode)
}

export function rejectTopic(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
  problem: TopicProblem,
): PublishCode {
  if (problem !== 'foreign')
    return reject(parts, connection, message, {
      error: TopicMalformed({ problem: topicProblems[problem] }),
      reason: `topic_${problem}`,
    })
  // Topics outside `kp1/` get no error message. The topic is not recorded: it may contain a token behind a misspelt start.
  refuse(parts, connection, { reason: 'topic_foreign', detail: topicProblems.foreign })
  return notRouted
}

/** Returns the reason code of the acknowledgement. Only MQTT 5 has them. */
export function codeOf(status: number): PublishCode {
  if (status >= 500) return 0x80
  if (status === 401 || status === 403) return 0x87
  if (status === 404) return 0x90
  return status === 429 ? 0x97 : 0x99
}
