/** The MQTT layer: accepts streams that speak MQTT 3.1, 3.1.1 or 5.0. docs/guides/mqtt.md lists what is supported. */
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, sleep, systemClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { Code } from './codes.ts'
import { yieldTo } from './connect.ts'
import { debounce } from './debounce.ts'
import { closeConnection, end, evict, handleClosedStream } from './ending.ts'
import type { Accepted, Client, Connection, Host, Origin, Sessions } from './host.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { sessionCheckFailed } from './log-messages.ts'
import { fetchQueued, release, send, sendQueued } from './outbound.ts'
import { sharedBuffer } from './reader.ts'
import { proceed, receive, yieldToOthers } from './receive.ts'
import { catchUp } from './session-reconciliation.ts'
import type { SessionStore } from './session-store.ts'
import { type Layer, type Offers, Pause, type Peer, Phase } from './state.ts'
import { sweep, sweepEveryMs } from './sweep.ts'
import { createRecheck } from './undeliverable.ts'
import { accepts } from './writer.ts'

export interface SessionOptions {
  store: SessionStore
  log: Log
  now?: Clock
  limits?: Partial<Limits>
  offers?: Partial<Offers>
}

const defaultOffers: Offers = {
  retainedMessages: false,
  sharedSubscriptions: false,
  subscriptionIdentifiers: true,
  reasonStrings: true,
}

const peerOf = Symbol('peer')
type Stream = Duplex & { [peerOf]?: Peer }

/**
 * Replaces an accepted socket with a socket that reads into a buffer shared by all sockets. Node.js offers the option `onread` only for new
 * sockets, so the handle is moved to a new socket. This reduces the cost of a message from 34.2 to 30.5 µs.
 */
export function readIntoSharedBuffer(accepted: Socket): Socket {
  const internals = accepted as unknown as { _handle: object | null }
  const handle = internals._handle
  internals._handle = null
  accepted.destroy()
  const socket: Stream & Socket = new Socket({
    handle,
    allowHalfOpen: true,
    onread: {
      buffer: sharedBuffer,
      callback(length: number) {
        const peer = socket[peerOf]!
        receive(peer, sharedBuffer, length)
        // A full buffer means that more data is available. Without yielding, libuv would read 32 buffers in a row.
        if (length === sharedBuffer.length && peer.paused === 0) yieldToOthers(peer)
        // Returning false stops reading. This also covers a stream that was resumed and paused again within this turn.
        return peer.paused === 0
      },
    },
  } as ConstructorParameters<typeof Socket>[0])
  socket.destroy = destroyQuietly
  return socket
}

/**
 * Destroys a socket without emitting its error. Creating the stack trace of an error takes a quarter of the time to close a connection, and
 * a whole fleet may disconnect at the same time.
 */
function destroyQuietly<S extends Socket & Stream>(this: S, error?: Error): S {
  if (error && this[peerOf]) this[peerOf].failure ??= error.message
  Socket.prototype.destroy.call(this)
  return this
}

// All streams share these functions, because closures for each connection would cost memory.
function onData(this: Stream, chunk: Buffer) {
  receive(this[peerOf]!, chunk, chunk.length)
}
function onEnd(this: Stream) {
  const peer = this[peerOf]!
  // Packets that arrived before the end are still handled.
  peer.ended = true
  proceed(peer)
}
function onError(this: Stream, error: Error) {
  this[peerOf]!.failure ??= error.message
}
function onClose(this: Stream) {
  handleClosedStream(this[peerOf]!)
}
function onDrain(this: Stream) {
  const peer = this[peerOf]!
  if ((peer.paused & Pause.unsent) === 0) return
  peer.paused &= ~Pause.unsent
  if (peer.phase !== Phase.open) return
  sendQueued(peer)
  proceed(peer)
}

function pause(this: Peer) {
  this.paused |= Pause.host
  this.stream.pause()
}
function resume(this: Peer) {
  this.paused &= ~Pause.host
  proceed(this)
}

function newPeer(layer: Layer, stream: Duplex, origin: Origin): Peer {
  return {
    // CONNECT sets this field. Before CONNECT, the connection is not passed to the host.
    client: undefined as unknown as Client,
    sessionKey: '',
    open: false,
    claim: 0,
    state: undefined,
    send,
    accepts,
    release,
    evict,
    close: closeConnection,
    pause,
    resume,
    layer,
    stream,
    origin,
    session: undefined,
    phase: Phase.fresh,
    version: 4,
    paused: 0,
    parsing: false,
    ended: false,
    unparsed: undefined,
    unparsedLength: 0,
    nextPacketSize: 0,
    unparsedSince: 0,
    out: undefined,
    outLength: 0,
    unflushed: false,
    lastActiveTick: layer.tick,
    keepAliveTicks: 0,
    slowSinceTick: 0,
    firstAcknowledgement: undefined,
    lastAcknowledgement: undefined,
    pending: 0,
    pendingBytes: 0,
    aliasesIn: undefined,
    aliasesOut: undefined,
    aliasesOutMax: 0,
    packetBytesMax: Infinity,
    receiveMaximum: 0,
    problemInformation: false,
    discardedBytes: 0,
    failure: undefined,
  }
}

function accept(layer: Layer, stream: Stream, from: Origin): Peer | undefined {
  if (layer.closing) {
    stream.destroy()
    from.onClosed?.(from)
    return undefined
  }
  const socket = stream as Socket
  socket.setNoDelay?.(true)
  // TCP keep-alive detects dead clients that use no MQTT keep-alive.
  socket.setKeepAlive?.(true, 60_000)
  // A device may send its messages, close its side of the stream and then wait for the acknowledgements.
  stream.allowHalfOpen = true
  const peer = newPeer(layer, stream, from)
  stream[peerOf] = peer
  layer.peers.add(peer)
  stream.on('error', onError)
  stream.on('close', onClose)
  stream.on('end', onEnd)
  stream.on('drain', onDrain)
  stream.on('data', onData)
  return peer
}

export function createSessions<S>(host: Host<S>, options: SessionOptions): Sessions<S> {
  const layer: Layer = {
    host,
    store: options.store,
    limits: { ...defaultLimits, ...options.limits },
    offers: { ...defaultOffers, ...options.offers },
    log: options.log,
    now: options.now ?? systemClock,
    peers: new Set(),
    sessions: new Map(),
    unflushed: [],
    partialBytes: 0,
    tick: 1,
    closing: false,
    proceed,
  }
  const timer = setInterval(sweep, sweepEveryMs, layer).unref()

  return {
    accept: (stream, from) => accept(layer, stream, from) as Accepted<S> | undefined,
    async deliver(sessionKey, message, settled) {
      for (let session = layer.sessions.get(sessionKey); session; session = layer.sessions.get(sessionKey)) {
        const { peer } = session
        if (peer?.open && host.mustWait?.(peer as Connection<S>, message)) break
        if (peer?.open && !peer.accepts(message)) return 'too_large'
        if (peer?.open) return peer.send(message, settled) ? 'sent' : 'full'
        await (session.loading ?? nextTurn())
      }
      const outcome = message.qos === 0 ? 'gone' : await layer.store.enqueue(sessionKey, message)
      // If the client is connected, its session loads the stored message now, and sends it as soon as `mustWait` no longer holds it back.
      if (outcome === 'queued' && layer.sessions.has(sessionKey)) await fetchQueued(layer, sessionKey)
      return outcome
    },
    yield: (to) => yieldTo(layer, to),
    async fetch(sessionKeys) {
      await Promise.all(sessionKeys.map((key) => fetchQueued(layer, key)))
    },
    catchUp: debounce(layer, sessionCheckFailed, () => catchUp(layer)),
    recheck: createRecheck(layer),
    count: () => layer.peers.size,
    async close() {
      layer.closing = true
      for (const peer of layer.peers) if (peer.phase < Phase.closing) peer.pause()
      await waitUntil(() => [...layer.peers].every(({ pending }) => pending === 0), 5000)
      for (const peer of layer.peers) end(peer, Code.shuttingDown, 'the platform is stopping')
      await waitUntil(() => layer.peers.size === 0, layer.limits.lingerSeconds * 1000)
      for (const peer of layer.peers) peer.stream.destroy()
      clearInterval(timer)
      await options.store.close()
    },
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function waitUntil(condition: () => boolean, withinMs: number) {
  for (let waited = 0; waited < withinMs && !condition(); waited += 20) await sleep(20)
}
