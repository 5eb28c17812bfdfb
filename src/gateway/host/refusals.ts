/** Messages and connections that are refused: recorded, counted as guesses, and answered. */

import { errorPayload, understand } from '../dispatch.ts'
import { TopicMalformed } from '../errors.ts'
import type { Refused } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import type { Device } from '../peers.ts'
import { shownIn, type Topic, type TopicProblem, topicProblems } from '../topic.ts'
import type { HostParts } from './parts.ts'

const refusedMax = 64
const notRouted = 0x10
export const tooManyGuesses = 'too_many_guesses'
/** MQTT 5 clients read it. */
export const authenticationRequired = 'clients have to authenticate here'

type Reason = Omit<Refused, 'error'>

/** Records a refusal; the client is not told. */
export function refuse(
  parts: Pick<HostParts, 'metrics' | 'trafficLog'>,
  connection: Device,
  why: Reason,
  topic?: Topic,
) {
  const { reason, detail, tenantId } = why
  const { client, state } = connection
  const known = tenantId ?? state.shown?.tenantId
  parts.metrics.refused(reason)
  parts.trafficLog.refuse({
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

/** Counts a wrong token as a guess, each token once for a connection. */
export function countGuess({ guesses }: HostParts, { state: peer, client }: Device, topic: Topic) {
  const shown = shownIn(topic)
  if (peer.refused?.has(shown)) return
  guesses.wrong(client.address, shown)
  peer.refused ??= new Set()
  if (peer.refused.size < refusedMax) peer.refused.add(shown)
}

/** Records a refused message and answers it with an error. */
export function reject(
  parts: HostParts,
  connection: Device,
  message: Message,
  refused: Refused,
  topic?: Topic,
): PublishCode {
  refuse(parts, connection, refused, topic)
  if (refused.guess && topic) countGuess(parts, connection, topic)
  const error = understand(refused.error)
  connection.send({ topic: `${message.topic}/error`, payload: errorPayload(error), qos: message.qos })
  if (refused.close) connection.close('not_authorized', authenticationRequired)
  return codeOf(error.statusCode)
}

export function rejectTopic(
  parts: HostParts,
  connection: Device,
  message: Message,
  problem: TopicProblem,
): PublishCode {
  if (problem !== 'foreign')
    return reject(parts, connection, message, {
      error: TopicMalformed({ problem: topicProblems[problem] }),
      reason: `topic_${problem}`,
    })
  // There is no answer on a topic that is not ours. The topic is not recorded: it may hold a token after a wrong start.
  refuse(parts, connection, { reason: 'topic_foreign', detail: topicProblems.foreign })
  return notRouted
}

/** MQTT 5 only; older clients get an acknowledgement without one. */
export function codeOf(status: number): PublishCode {
  if (status >= 500) return 0x80
  if (status === 401 || status === 403) return 0x87
  if (status === 404) return 0x90
  return status === 429 ? 0x97 : 0x99
}
