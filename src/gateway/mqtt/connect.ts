/** Handles CONNECT: authenticates the client, opens or resumes its session, sends CONNACK. */
import { newId } from '../../kernel/ids.ts'
import { Code } from './codes.ts'
import type { Connect } from './decode.ts'
import { end, refuse } from './ending.ts'
import { holdBackAll } from './held-messages.ts'
import type { Client, Verdict } from './host.ts'
import { connectFailed } from './log-messages.ts'
import { sendQueued } from './outbound.ts'
import type { Properties } from './properties.ts'
import { dropTransient, newSession, requeueInFlight, restoreSession, settleAll, subscriptionsOf } from './session.ts'
import { type Layer, Pause, type Peer, Phase, type Session, ticksPerSecond } from './state.ts'
import { dropUndeliverable } from './undeliverable.ts'
import { writeConnack } from './writer.ts'

const verdictCodes: Record<Extract<Verdict, { accepted: false }>['code'], number> = {
  bad_credentials: Code.badCredentials,
  not_authorized: Code.notAuthorized,
  busy: Code.busy,
  banned: Code.banned,
}

const refusalCodes = { busy: Code.busy, quota_exceeded: Code.quotaExceeded }

export function connect(peer: Peer, packet: Connect) {
  const { limits, closing } = peer.layer
  const { version, properties, clientId } = packet
  peer.version = version
  peer.phase = Phase.connecting
  peer.paused |= Pause.connecting
  peer.stream.pause()
  peer.receiveMaximum = Math.min(Number(properties.receiveMaximum ?? 0xffff), limits.inFlightMax)
  peer.packetBytesMax = Number(properties.maximumPacketSize ?? Infinity)
  peer.aliasesOutMax = Math.min(Number(properties.topicAliasMaximum ?? 0), limits.topicAliasMaximum)
  peer.problemInformation = properties.requestProblemInformation !== false
  peer.client = clientOf(peer, packet)
  if (closing) refuse(peer, Code.unavailable, 'the platform is stopping')
  else if (peer.origin.refusal) refuse(peer, refusalCodes[peer.origin.refusal], 'too many connections')
  else if (properties.authenticationMethod !== undefined)
    refuse(peer, Code.badAuthenticationMethod, 'extended authentication is not supported')
  // MQTT-3.1.3-8: a session that outlives the connection needs a client id. MQTT 3.1 always requires a client id.
  else if (clientId === '' && (version === 3 || (version === 4 && !packet.cleanStart)))
    refuse(peer, Code.clientIdInvalid, 'no client id')
  else if (Buffer.byteLength(clientId) > limits.clientIdBytesMax)
    refuse(peer, Code.clientIdInvalid, 'the client id is too long')
  else void admit(peer, packet)
}

function clientOf(peer: Peer, packet: Connect): Client {
  const { version, properties, username, password, will } = packet
  const { transport, address, certificate } = peer.origin
  return {
    clientId: packet.clientId || newId(),
    protocolVersion: version,
    cleanStart: packet.cleanStart,
    sessionExpirySeconds: expirySeconds(peer, packet, properties),
    keepAliveSeconds: keepAliveSeconds(peer, packet),
    transport,
    address,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: Buffer.from(password) }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(will === undefined ? {} : { will }),
  }
}

function expirySeconds({ layer }: Peer, { version, cleanStart }: Connect, properties: Properties): number {
  const requested = version < 5 ? (cleanStart ? 0 : Infinity) : Number(properties.sessionExpiryInterval ?? 0)
  return Math.min(requested === 0xffff_ffff ? Infinity : requested, layer.limits.sessionExpiryMaxSeconds)
}

/** Limits the keep-alive of MQTT 5 clients. In older protocol versions, the server cannot change the keep-alive. */
function keepAliveSeconds({ layer }: Peer, { version, keepAliveSeconds: requested }: Connect): number {
  const max = layer.limits.keepAliveMaxSeconds
  return version === 5 && (requested === 0 || requested > max) ? max : requested
}

async function admit(peer: Peer, packet: Connect) {
  const { layer, client } = peer
  try {
    const verdict = await layer.host.connect(client)
    delete client.password
    if (peer.phase !== Phase.connecting) return
    if (!verdict.accepted) {
      if (verdict.tenantId !== undefined) client.tenantId = verdict.tenantId
      refuse(peer, verdictCodes[verdict.code], verdict.why)
    } else if (layer.closing) refuse(peer, Code.unavailable, 'the platform is stopping')
    else {
      // Client ids contain no control characters, so the separator is unambiguous.
      peer.sessionKey = `${verdict.owner}\u001f${client.clientId}`
      await openSession(peer, packet)
    }
  } catch (error) {
    connectFailed(layer.log, { err: error, clientId: client.clientId })
    if (peer.phase === Phase.open) end(peer, Code.unspecified, 'the platform failed')
    else refuse(peer, Code.unavailable, 'the platform failed')
  }
}

async function openSession(peer: Peer, packet: Connect) {
  const { layer, client, sessionKey } = peer
  const existing = layer.sessions.get(sessionKey)
  if (existing?.peer) closeOldConnection(existing.peer)
  const isResumed = !packet.cleanStart && existing && existing.expirySeconds > 0
  const session = isResumed ? existing : newSession(sessionKey)
  if (existing && !isResumed) settleAll(existing, 'lost')
  session.peer = peer
  peer.session = session
  layer.sessions.set(sessionKey, session)
  let sessionPresent = isResumed === true
  let resolveLoading = () => {}
  const loading = isResumed ? session.loading : undefined
  session.claiming = true
  session.competingClaim = undefined
  session.inherited = sessionPresent
  session.loading = new Promise((resolve) => {
    resolveLoading = resolve
  })
  try {
    // The claim is not awaited here, so that the store can run it in one transaction with the load below.
    const claiming = layer.store.claim(sessionKey, packet.cleanStart).then((claim) => {
      // Another connection of this node, with a claim of its own, may have taken over the session meanwhile.
      if (session.peer === peer) applyClaim(layer, session, claim)
      else layer.store.removeHolder(sessionKey, claim)
      return claim
    })
    claiming.catch(() => {}) // The error is handled where the promise is awaited.
    if (loading) await loading
    if (isResumed) {
      dropTransient(session)
      requeueInFlight(session)
    } else if (packet.cleanStart) await layer.store.discard(sessionKey)
    else {
      const state = await layer.store.load(sessionKey, true)
      if (state) restoreSession(session, state)
      sessionPresent = state !== undefined
    }
    const claim = await claiming
    holdBackAll(peer, session)
    await dropUndeliverable(layer, session, client)
    session.expirySeconds = client.sessionExpirySeconds
    if (session.expirySeconds > 0 && peer.phase === Phase.connecting) {
      const subscriptions = subscriptionsOf(session)
      await layer.store.save(sessionKey, claim, { expirySeconds: session.expirySeconds, subscriptions })
      session.isStored = true
    }
    if (peer.phase === Phase.connecting) startConnection(peer, session, packet, sessionPresent)
  } finally {
    if (session.peer === peer) session.loading = undefined
    resolveLoading()
  }
}

function applyClaim(layer: Layer, session: Session, claim: number) {
  session.claim = claim
  session.claiming = false
  const { competingClaim } = session
  session.competingClaim = undefined
  if (competingClaim) yieldTo(layer, { key: session.key, ...competingClaim })
}

/** Implements `Sessions.yield`. */
export function yieldTo(
  layer: Layer,
  { key, claim, clean, by }: { key: string; claim: number; clean: boolean; by: string },
) {
  const session = layer.sessions.get(key)
  const peer = session?.peer
  if (!peer) {
    // The connection has just ended, and its session is being written. The store runs the release after this write.
    if (!clean) layer.store.release(key, by)
    return
  }
  if (session.claiming) {
    if (claim > (session.competingClaim?.claim ?? 0)) session.competingClaim = { claim, clean, by }
    return
  }
  if (session.claim > claim) return
  if (clean) {
    // A clean start discards the session, so it is not stored.
    peer.session = undefined
    session.peer = undefined
    layer.sessions.delete(key)
    settleAll(session, 'lost')
  }
  end(peer, Code.takenOver, takenOverText, { yieldedTo: by })
}

const takenOverText = 'another connection has taken over the session'

/** Closes the old connection. Its session stays in memory for the new connection. */
function closeOldConnection(old: Peer) {
  old.session = undefined
  end(old, Code.takenOver, takenOverText)
}

function startConnection(peer: Peer, session: Session, packet: Connect, present: boolean) {
  const { layer, client } = peer
  if (!writeConnack(peer, present && peer.version > 3, Code.success, connackProperties(peer, packet))) {
    end(peer, Code.tooLarge, 'the client accepts only packets that are smaller than the answer')
    return
  }
  peer.phase = Phase.open
  peer.open = true
  peer.claim = session.claim
  session.inherited = false
  peer.lastActiveTick = layer.tick
  // The limit is one and a half times the keep-alive (MQTT-3.1.2-22). One tick is added, because the current tick may be about to end.
  peer.keepAliveTicks = client.keepAliveSeconds > 0 ? Math.ceil(client.keepAliveSeconds * 1.5 * ticksPerSecond) + 1 : 0
  sendQueued(peer)
  layer.host.connected(peer, { present, subscriptions: subscriptionsOf(session) })
  peer.paused &= ~Pause.connecting
  layer.proceed(peer)
}

function connackProperties(peer: Peer, packet: Connect): Properties {
  if (peer.version < 5) return {}
  const { limits, offers } = peer.layer
  const { client } = peer
  const requested = Number(packet.properties.sessionExpiryInterval ?? 0)
  const properties: Properties = {
    topicAliasMaximum: limits.topicAliasMaximum,
    receiveMaximum: limits.receiveMaximum,
    maximumPacketSize: limits.packetBytesMax,
  }
  if (packet.clientId === '') properties.assignedClientIdentifier = client.clientId
  if (client.keepAliveSeconds !== packet.keepAliveSeconds) properties.serverKeepAlive = client.keepAliveSeconds
  if (client.sessionExpirySeconds !== (requested === 0xffff_ffff ? Infinity : requested))
    properties.sessionExpiryInterval = client.sessionExpirySeconds
  if (!offers.retainedMessages) properties.retainAvailable = false
  if (!offers.sharedSubscriptions) properties.sharedSubscriptionAvailable = false
  if (!offers.subscriptionIdentifiers) properties.subscriptionIdentifiersAvailable = false
  if (offers.responseInformation !== undefined && packet.properties.requestResponseInformation === true)
    properties.responseInformation = offers.responseInformation
  return properties
}
