/** Which endpoint a message is from: identified by its topic once, then kept as a route of the connection. */
import { TooManyRequests } from '../../kernel/errors.ts'
import { slotOf } from '../connection-limits.ts'
import { type Identified, isRefused, type Refused } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { type Device, hasPresented, keepRoute, present, type Route, routeFor } from '../peers.ts'
import { readTopic, shownIn, type Topic } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { reject, rejectTopic, tooManyGuesses } from './refusals.ts'

/** The route of a message, or the code with which it was refused. */
export async function resolve(parts: HostParts, connection: Device, message: Message): Promise<Route | PublishCode> {
  const topic = readTopic(message.topic)
  if (typeof topic === 'string') return rejectTopic(parts, connection, message, topic)
  const seconds = parts.guesses.lockedFor(connection.client.address, shownIn(topic))
  if (seconds > 0) {
    const refused = { error: TooManyRequests({ seconds }), reason: tooManyGuesses }
    const code = reject(parts, connection, message, refused, topic)
    if (!connection.state.known) connection.close('not_authorized', 'too many wrong tokens from this address')
    return code
  }
  const found = await route(parts, connection, topic)
  return 'error' in found ? reject(parts, connection, message, found, topic) : found
}

/** Identifies the endpoint and binds it to this connection. */
async function route(parts: HostParts, connection: Device, topic: Topic): Promise<Route | Refused> {
  const { identify, bindings, metrics } = parts
  const { state: peer, client } = connection
  const known = routeFor(connection, topic.prefix)
  if (known) return known
  for (;;) {
    const who = await identify(topic, { transport: client.transport, shown: peer.shown })
    if (isRefused(who)) return who
    if (!identify.isCurrent(who)) continue
    const counts = metrics.messages(who.extension?.name, client.transport)
    // The client has left meanwhile: its message is handled, but nothing is bound.
    if (!connection.open) return routeOf(bindings.visit(connection, who), who, topic, counts)
    introduce(parts, connection, topic, who)
    const presence = bindings.bind(connection, who, true)!
    const made = routeOf(presence, who, topic, counts)
    // Names of unknown extensions are not kept: the client could send any number of them.
    if (who.extension) keepRoute(peer, made)
    return made
  }
}

/** The client has presented a valid token. */
export function introduce(parts: HostParts, connection: Device, topic: Topic, { endpointTokenId }: Identified) {
  const { state: peer, client } = connection
  parts.guesses.right(client.address, shownIn(topic))
  if (!peer.shown && !hasPresented(peer, endpointTokenId)) {
    present(peer, endpointTokenId)
    connection.release(endpointTokenId)
  }
  if (peer.known) return
  peer.known = true
  parts.patience.done(connection)
  if (!peer.endpoints) parts.limits.stands(slotOf(connection), 'idle')
}

/** Runs the work after everything that arrived earlier on this connection and is not identified yet. */
export function inTurn<T>(connection: Device, work: () => Promise<T>): Promise<T> {
  const peer = connection.state
  const turn = peer.waiting ? peer.waiting.then(work) : work()
  const cleared = turn.then(clear, clear)
  peer.waiting = cleared
  function clear() {
    if (peer.waiting === cleared) peer.waiting = undefined
  }
  return turn
}

const routeOf = (
  presence: Route['presence'],
  who: Identified,
  { prefix, extension: extensionName }: Topic,
  counts: Route['counts'],
): Route => ({
  presence,
  endpointTokenId: who.endpointTokenId,
  generation: who.generation,
  endpoint: {
    tenantId: who.tenant.tenantId,
    applicationName: who.applicationName,
    versionName: who.versionName,
    endpointId: who.endpointId,
  },
  extension: who.extension,
  extensionName,
  counts,
  prefix,
})
