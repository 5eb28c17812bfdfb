/** Resolves the endpoint of a message by its topic, and caches the result as a route of the connection. */
import { TooManyRequests } from '../../kernel/errors.ts'
import { slotOf } from '../connection-limits.ts'
import {
  addPresentedToken,
  cacheRoute,
  type DeviceConnection,
  findRoute,
  hasPresentedToken,
  type Route,
} from '../connection-state.ts'
import { type Failure, type Identified, isFailure } from '../identify.ts'
import type { Message, PublishCode } from '../mqtt/host.ts'
import { readTopic, type Topic, tokenKeyOf } from '../topic.ts'
import type { HostParts } from './parts.ts'
import { rejectMessage, rejectTopic, tooManyGuesses } from './refusals.ts'

/** Returns the route of a message, or the code of its rejection. */
export async function resolveRoute(
  parts: HostParts,
  connection: DeviceConnection,
  message: Message,
): Promise<Route | PublishCode> {
  const topic = readTopic(message.topic)
  if (typeof topic === 'string') return rejectTopic(parts, connection, message, topic)
  const seconds = parts.tokenLockout.lockedSeconds(connection.client.address, tokenKeyOf(topic))
  if (seconds > 0) {
    const failure = { error: TooManyRequests({ seconds }), reason: tooManyGuesses }
    const code = rejectMessage(parts, connection, message, failure, topic)
    if (!connection.state.isIdentified) connection.close('not_authorized', 'too many wrong tokens from this address')
    return code
  }
  const route = await identifyAndBind(parts, connection, topic)
  return 'error' in route ? rejectMessage(parts, connection, message, route, topic) : route
}

/** Identifies the endpoint and binds it to this connection. */
async function identifyAndBind(parts: HostParts, connection: DeviceConnection, topic: Topic): Promise<Route | Failure> {
  const { identify, bindings, metrics } = parts
  const { state, client } = connection
  const known = findRoute(connection, topic.prefix)
  if (known) return known
  for (;;) {
    const identified = await identify(topic, { transport: client.transport, authentication: state.authentication })
    if (isFailure(identified)) return identified
    if (!identify.isCurrent(identified)) continue
    const counts = metrics.messageCounts(identified.extension?.name, client.transport)
    // The client has disconnected while its message was being identified. The message is handled, but the endpoint is not bound.
    if (!connection.open) {
      const lateRoute = routeOf(bindings.reportTransient(connection, identified), identified, topic, counts)
      cacheRoute(state, lateRoute)
      return lateRoute
    }
    acceptToken(parts, connection, topic, identified)
    const binding = bindings.bind(connection, identified, true)!
    const newRoute = routeOf(binding, identified, topic, counts)
    // Routes to unknown extensions are not cached, because a client could fill the cache with invented names.
    if (identified.extension) cacheRoute(state, newRoute)
    return newRoute
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
  parts.tokenLockout.recordSuccess(client.address, tokenKeyOf(topic))
  if (!state.authentication && !hasPresentedToken(state, endpointTokenId)) {
    addPresentedToken(state, endpointTokenId)
    connection.release(endpointTokenId)
  }
  if (state.isIdentified) return
  state.isIdentified = true
  parts.anonymousTimeout.cancel(connection)
  if (!state.endpoints) parts.limits.setEvictionClass(slotOf(connection), 'idle')
}

/** Runs the work when all earlier messages of this connection are identified. */
export function runInOrder<T>(connection: DeviceConnection, work: () => Promise<T>): Promise<T> {
  const state = connection.state
  const result = state.identifying ? state.identifying.then(work) : work()
  const cleared = result.then(clear, clear)
  state.identifying = cleared
  function clear() {
    if (state.identifying === cleared) state.identifying = undefined
  }
  return result
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
  activeAt: 0,
  prefix,
})
