/** MQTT's end of the gateway: packets become messages for dispatch.ts, and what it answers becomes packets. */
import { monotonicMs } from '../kernel/clock.ts'
import type { Kit } from '../kernel/define-service.ts'
import { TooManyRequests } from '../kernel/errors.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import type { Bindings } from './bindings.ts'
import type { Clients } from './clients.ts'
import type { ConnectionLimits, Slot } from './connection-limits.ts'
import { type Arrival, type Dispatch, errorPayload, type Reply, understand } from './dispatch.ts'
import { TopicMalformed } from './errors.ts'
import { type Identified, type Identify, isRefused, type Refused } from './identify.ts'
import { count, type Guesses, type TrafficRate, trafficRate } from './limits.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Host, Message, PublishCode, Qos, Subscription } from './mqtt/host.ts'
import { createPatience } from './patience.ts'
import { type Device, hasPresented, keepRoute, newPeer, type Peer, present, type Route, routeFor } from './peers.ts'
import type { GatewaySettings } from './settings.ts'
import {
  endpointOfFilter,
  readTail,
  readTopic,
  shownIn,
  type Topic,
  type TopicProblem,
  topicProblems,
} from './topic.ts'

export interface HostDeps {
  settings: GatewaySettings
  tenantRate: TrafficRate
  log: Kit['log']
  clients: Clients
  identify: Identify
  bindings: Bindings
  dispatch: Dispatch
  limits: ConnectionLimits
  guesses: Guesses
  trafficLog: Pick<TrafficLog, 'refuse'>
  metrics: GatewayMetrics
  mayDeliver: NonNullable<Host['mayDeliver']>
  /** It was opened: whoever watches connections looks after it. */
  opened(connection: Device): void
  closed(connection: Device): void
}

type Acknowledged = Promise<PublishCode | undefined> | PublishCode | undefined

/** What is needed to answer a message. */
interface Arrived extends Arrival {
  to: Route
  connection: Device
  message: Message
}

const refusedMax = 64
/** The longest that a connection is not read. */
const slowestMs = 60_000
/** Of the endpoints that a client's subscriptions name: it is not read while so many are still looked up. */
const lookupsMax = 1000
const notRouted = 0x10
const tooManyGuesses = 'too_many_guesses'
/** MQTT 5 clients read it. */
const authenticationRequired = 'clients have to authenticate here'
const unnamed = 'it has shown neither credentials nor a valid token'

export function createHost(deps: HostDeps): Host<Peer> {
  const { settings, log, clients, identify, bindings, dispatch, limits, guesses, metrics } = deps
  const perConnection = trafficRate(settings.messagesPerConnection, settings.bytesPerConnection)
  const perTenant = deps.tenantRate

  /** What comes later is read later: back-pressure is the only answer that MQTT 3.1.1 has. */
  function slowDown(connection: Device, ms: number) {
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

  function refuse(connection: Device, { reason, detail, tenantId }: Omit<Refused, 'error'>, topic?: Topic) {
    const { client, state } = connection
    const known = tenantId ?? state.shown?.tenantId
    metrics.refused(reason)
    deps.trafficLog.refuse({
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

  const patience = createPatience(settings.strangerSeconds, (stranger) => {
    refuse(stranger, { reason: 'stranger_timeout', detail: `${unnamed} within ${settings.strangerSeconds} s` })
    stranger.close('not_authorized', unnamed)
  })

  /** Somebody may be trying out tokens: each counts once. */
  function guessed({ state: peer, client }: Device, topic: Topic) {
    const shown = shownIn(topic)
    if (peer.refused?.has(shown)) return
    guesses.wrong(client.address, shown)
    peer.refused ??= new Set()
    if (peer.refused.size < refusedMax) peer.refused.add(shown)
  }

  function turnAway(connection: Device, message: Message, refused: Refused, topic?: Topic): PublishCode {
    refuse(connection, refused, topic)
    if (refused.guess && topic) guessed(connection, topic)
    const error = understand(refused.error)
    connection.send({ topic: `${message.topic}/error`, payload: errorPayload(error), qos: message.qos })
    if (refused.close) connection.close('not_authorized', authenticationRequired)
    return codeOf(error.statusCode)
  }

  function turnAwayTopic(connection: Device, message: Message, problem: TopicProblem): PublishCode {
    if (problem !== 'foreign')
      return turnAway(connection, message, {
        error: TopicMalformed({ problem: topicProblems[problem] }),
        reason: `topic_${problem}`,
      })
    // Not a broker: nothing is routed, and nobody is told on a topic that is not ours.
    // Without the topic: where only its start is a slip, there is a token in it.
    refuse(connection, { reason: 'topic_foreign', detail: topicProblems.foreign })
    return notRouted
  }

  /** Who speaks on this topic, bound to this connection. */
  async function route(connection: Device, topic: Topic): Promise<Route | Refused> {
    const { state: peer, client } = connection
    const known = routeFor(connection, topic.prefix)
    if (known) return known
    for (;;) {
      const who = await identify(topic, { transport: client.transport, shown: peer.shown })
      if (isRefused(who)) return who
      if (!identify.isCurrent(who)) continue
      // It said what it had to say and went: that is heard, but nobody is there.
      if (!connection.open) return routeOf(bindings.visit(connection, who), who, topic, countsOf(connection, who))
      introduce(connection, topic, who)
      const presence = bindings.bind(connection, who, true)!
      const made = routeOf(presence, who, topic, countsOf(connection, who))
      // Names of extensions that nobody has are not remembered: they are the peer's to make up.
      if (who.extension) keepRoute(peer, made)
      return made
    }
  }

  const countsOf = ({ client }: Device, { extension }: Identified) =>
    metrics.messages(extension?.name, client.transport)

  /** The client has presented a valid token. */
  function introduce(connection: Device, topic: Topic, { endpointTokenId }: Identified) {
    const { state: peer, client } = connection
    guesses.right(client.address, shownIn(topic))
    if (!peer.shown && !hasPresented(peer, endpointTokenId)) {
      present(peer, endpointTokenId)
      connection.release(endpointTokenId)
    }
    if (peer.known) return
    peer.known = true
    patience.done(connection)
    if (!peer.endpoints) limits.stands(slotOf(connection), 'idle')
  }

  /** Behind all that came before on this connection and is not identified yet. */
  function inTurn<T>(connection: Device, work: () => Promise<T>): Promise<T> {
    const peer = connection.state
    const turn = peer.waiting ? peer.waiting.then(work) : work()
    const cleared = turn.then(clear, clear)
    peer.waiting = cleared
    function clear() {
      if (peer.waiting === cleared) peer.waiting = undefined
    }
    return turn
  }

  /** A code: it was turned away. */
  async function resolve(connection: Device, message: Message): Promise<Route | PublishCode> {
    const topic = readTopic(message.topic)
    if (typeof topic === 'string') return turnAwayTopic(connection, message, topic)
    const seconds = guesses.lockedFor(connection.client.address, shownIn(topic))
    if (seconds > 0) {
      const code = turnAway(connection, message, { error: TooManyRequests({ seconds }), reason: tooManyGuesses }, topic)
      if (!connection.state.known) connection.close('not_authorized', 'too many wrong tokens from this address')
      return code
    }
    const found = await route(connection, topic)
    return 'error' in found ? turnAway(connection, message, found, topic) : found
  }

  function handle(connection: Device, found: Route, message: Message, end: number, at: number): Acknowledged {
    const wait = count(found.presence.tenant.traffic, perTenant, at, message.payload.length)
    if (wait > 0) slowDown(connection, wait)
    const tail = readTail(message.topic, end)
    if (typeof tail === 'string') return turnAwayTopic(connection, message, tail)
    const { payload } = message
    const { transport } = connection.client
    return dispatch({ to: found, tail, payload, transport, at, connection, message }, conclude)
  }

  function conclude({ connection, to, message }: Arrived, reply: Reply): PublishCode | undefined {
    answer(connection, to, message, reply)
    if (reply.statusCode < 400) return undefined
    // A client that cannot be told sends again what was not stored, on a connection of its own making. 500 is acknowledged: such
    // a message would come again for ever.
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

  /** A subscription to what comes to one endpoint: somebody waits for it here. */
  async function bindSubscriber(connection: Device, topic: Topic): Promise<void> {
    const { state: peer, client } = connection
    while (connection.open) {
      if (guesses.lockedFor(client.address, shownIn(topic)) > 0) {
        refuse(connection, { reason: tooManyGuesses }, topic)
        return
      }
      const who = await identify(topic, { transport: client.transport, shown: peer.shown })
      if (isRefused(who)) {
        refuse(connection, who, topic)
        if (who.guess) guessed(connection, topic)
        if (who.close) connection.close('not_authorized', authenticationRequired)
        return
      }
      if (!identify.isCurrent(who)) continue
      // It has gone, but its session may be kept: what comes for the endpoint waits there.
      if (!connection.open) return void bindings.visit(connection, who)
      introduce(connection, topic, who)
      bindings.bind(connection, who, false)
      return
    }
  }

  function noteSubscriptions({ state: peer }: Device, subscriptions: Subscription[]) {
    if (subscriptions.length === 0) return
    peer.subscriptions ??= new Map()
    for (const { filter, qos } of subscriptions) peer.subscriptions.set(filter, grantedQos(qos))
  }

  function awaitPushes(connection: Device, subscriptions: Subscription[]) {
    const peer = connection.state
    noteSubscriptions(connection, subscriptions)
    const named = new Map<string, Topic>()
    for (const { filter } of subscriptions) {
      const topic = endpointOfFilter(filter)
      if (topic) named.set(`${topic.versionName}/${topic.token}`, topic)
    }
    for (const topic of named.values())
      inTurn(connection, () => bindSubscriber(connection, topic))
        .catch((error) => log.warn({ err: error }, 'who subscribes could not be looked up'))
        .finally(() => {
          if (--peer.lookups === lookupsMax / 2 && !peer.slowed && connection.open) connection.resume()
        })
    peer.lookups += named.size
    if (peer.lookups >= lookupsMax) connection.pause()
  }

  return {
    connect: (client) => clients.admit(client),

    connected(connection, { subscriptions }) {
      connection.state = newPeer(clients.shownBy(connection.client), perConnection)
      const slot = slotOf(connection)
      limits.opened(slot)
      if (connection.state.known) limits.stands(slot, 'protected')
      else patience.with(connection)
      metrics.connected(connection.client.transport, 1)
      deps.opened(connection)
      // Subscriptions of an earlier connection prove nothing about an anonymous client (document 5, 10.2).
      if (connection.state.shown) awaitPushes(connection, subscriptions)
      else noteSubscriptions(connection, subscriptions)
    },

    publish(connection, message) {
      const peer = connection.state
      const at = monotonicMs()
      const wait = count(peer.traffic, perConnection, at, message.payload.length)
      if (wait > 0) slowDown(connection, wait)
      if (peer.waiting === undefined) {
        const known = routeFor(connection, message.topic)
        if (known !== undefined) return handle(connection, known, message, known.prefix.length, at)
      }
      return inTurn(connection, () => resolve(connection, message)).then((found) =>
        typeof found === 'object' ? handle(connection, found, message, found.prefix.length, monotonicMs()) : found,
      )
    },

    subscribe(connection, subscriptions) {
      awaitPushes(connection, subscriptions)
      return subscriptions.map(({ qos }) => grantedQos(qos))
    },

    unsubscribe(connection, filters) {
      for (const filter of filters) connection.state.subscriptions?.delete(filter)
    },

    mayDeliver: deps.mayDeliver,

    // An anonymous client could otherwise test thousands of tokens in one UNSUBSCRIBE.
    concealsSubscription: ({ state: peer }, filter) => !peer.shown && endpointOfFilter(filter) !== undefined,

    mustWait({ state: peer, client }, { about }) {
      // While CONNECT is being answered there is no state yet.
      if (!peer) return clients.shownBy(client) === undefined
      return !peer.shown && (about === undefined || !hasPresented(peer, about))
    },

    disconnected(connection) {
      const { state: peer, client } = connection
      bindings.release(connection)
      if (!peer.known) patience.done(connection)
      metrics.connected(client.transport, -1)
      deps.closed(connection)
    },

    refused({ transport, address, clientId, username, tenantId }, reason, detail) {
      metrics.refused(reason)
      deps.trafficLog.refuse({
        transport,
        address,
        reason,
        ...(clientId !== undefined && { clientId }),
        ...(username !== undefined && { username }),
        ...(detail !== undefined && { detail }),
        ...(tenantId === undefined ? tenantOf(username) : { tenantId }),
      })
    },
  }
}

/** Every connection of ours comes through a slot. */
export const slotOf = ({ from }: Device) => from as Slot

/** Pushes are sent once or at least once; more is not promised. */
const grantedQos = (asked: Qos): Qos => (asked > 1 ? 1 : asked)

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

/** Who tried to log in as a client of a tenant is that tenant's to know of. */
function tenantOf(username: string | undefined): { tenantId?: string } {
  const at = username?.lastIndexOf('@') ?? -1
  return at < 1 ? {} : { tenantId: username!.slice(at + 1) }
}

/** MQTT 5 only; older clients get an acknowledgement without one. */
function codeOf(status: number): PublishCode {
  if (status >= 500) return 0x80
  if (status === 401 || status === 403) return 0x87
  if (status === 404) return 0x90
  return status === 429 ? 0x97 : 0x99
}
