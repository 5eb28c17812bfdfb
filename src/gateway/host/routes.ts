/** Resolves the endpoint of a message by its topic, and caches the result as a route of the connection. */
import { TooManyRequests } from '../../kernel/errors.ts'
import { slotOf } from '../connection-limits.ts'
import {
  addPresentedToken,
  type DeviceConnection,
  hasPresentedToken,
  keepRoute,
  type Route,
  routeFor,
} from '../connection-state.ts'
import { type Identified, isRefused, type Refused } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { readTopic, type Topic, tokenKeyOf } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { reject, rejectTopic, tooManyGuesses } from './refusals.ts'

/** Returns the route of a message, or the code with which it was rejected. */
export async function resolve(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
): Promise<Route | PublishCode> {
  const topic = readTopic(message.topic)
  if (typeof topic === 'string') return rejectTopic(parts, connection, message, topic)
  const seconds = parts.tokenLockout.lockedFor(connection.client.address, tokenKeyOf(topic))
  if (seconds > 0) {
    const refused = { error: TooManyRequests({ seconds }), reason: tooManyGuesses }
    const code = reject(parts, connection, message, refused, topic)
    if (!connection.state.isIdentified) connection.close('not_authorized', 'too many wrong tokens from this address')
    return code
  }
  const found = await route(parts, connection, topic)
  return 'error' in found ? reject(parts, connection, message, found, topic) : found
}

/** Identifies the endpoint and binds it to this connection. */
async function route(parts: HostParts, connection: DeviceConnection, topic: Topic): Promise<Route | Refused> {
  const { identify, bindings, metrics } = parts
  const { state, client } = connection
  const known = routeFor(connection, topic.prefix)
  if (known) return known
  for (;;) {
    const identified = await identify(topic, { transport: client.transport, authentication: state.authentication })
    if (isRefused(identified)) return identified
    if (!identify.isCurrent(identified)) continue
    const counts = metrics.messages(identified.extension?.name, client.transport)
    // The client has disconnected meanwhile: its message is handled, but the endpoint is not bound.
    if (!connection.open) return routeOf(bindings.reportTransient(connection, identified), identified, topic, counts)
    acceptToken(parts, connection, topic, identified)
    const binding = bindings.bind(connection, identified, true)!
    const made = routeOf(binding, identified, topic, counts)
    // Routes to unknown extensions are not cached: a client could fill the cache with invented names.
    if (identified.extension) keepRoute(state, made)
    return made
  }
}

/** Records that the client has presented a valid token, and releases the messages that wait for it. */
export function acceptToken(
  parts: HostParts,
  connection: DeviceConnection,
  topic: Topic,
  { endpointTokenId }: Identified,
) {
  const { state, client } = connection
  parts.tokenLockout.succeeded(client.address, tokenKeyOf(topic))
  if (!state.authentication && !hasPresentedToken(state, endpointTokenId)) {
    addPresentedToken(state, endpointTokenId)
    connection.release(endpointTokenId)
  }
  if (state.isIdentified) return
  state.isIdentified = true
  parts.anonymousTimeout.cancel(connection)
  if (!state.endpoints) parts.limits.setStanding(slotOf(connection), 'idle')
}

/** Runs the work after everything that arrived earlier on this connection and is not identified yet. */
export function runInOrder<T>(connection: DeviceConnection, work: () => Promise<T>): Promise<T> {
  const state = connection.state
  const turn = state.waiting ? state.waiting.then(work) : work()
  const cleared = turn.then(clear, clear)
  state.waiting = cleared
  function clear() {
    if (state.waiting === cleared) state.waiting = undefined
  }
  return turn
}

const routeOf = (
  binding: Route['binding'],
  identified: Identified,
  { prefix, extension: extensionName }: Topic,
  counts: Route['counts'],
): Route => ({
  binding,
  endpointTokenId: identified.endpointTokenId,
  generation: identified.generation,
  endpoint: {
    tenantId: identified.tenant.tenantId,
    applicationName: identified.applicationName,
    versionName: identified.versionName,
    endpointId: identified.endpointId,
  },
  extension: identified.extension,
  extensionName,
  counts,
  prefix,
})
