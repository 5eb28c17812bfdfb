/**
 * Limits open HTTP connections, in total and per address. At a limit, the oldest connection without a running request is closed to make
 * room. If all are busy, the connection with the slowest body is closed (slow-bodies.ts). If no body is slow, the new connection is refused
 * with 503.
 */
import type { Server } from 'node:http'
import { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type IsProxy, networkOf, plainAddress } from '../client-address.ts'
import { monotonicMs } from '../clock.ts'
import type { ConnectionShare } from '../file-descriptors.ts'
import { followHandshakes } from './handshakes.ts'
import { createSlowBodies, defaultSlowBodyLimit, responseOf, type SlowBodyLimit } from './slow-bodies.ts'

/** Maximum number of connections that are examined to find a connection that may be closed. */
const examinedMax = 64

type Reason = 'total' | 'address'

const responseText = (status: string, message: string) => {
  const body = JSON.stringify({ message })
  return [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Retry-After: 1',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
const refusals: Record<Reason, string> = {
  total: responseText('503 Service Unavailable', 'Too many connections'),
  address: responseText('503 Service Unavailable', 'Too many connections from this address'),
}
const tooSlow = responseText('408 Request Timeout', 'The body arrives too slowly, and other connections need the room')

const leaveFunctions = new WeakMap<Duplex, () => void>()

/**
 * Stops counting a connection that switched to another protocol, such as WebSocket. The limit of the other protocol counts the connection.
 */
export const leaveHttp = (socket: Duplex) => leaveFunctions.get(socket)?.()

export interface HttpConnections {
  share: Pick<ConnectionShare, 'max' | 'open' | 'refused' | 'evicted'>
  /** Limit for one IPv4 address or IPv6 /64. Trusted proxies carry the requests of many clients and have no such limit. */
  perAddress: number
  /**
   * Time that a new connection has for its first request. Before this time has passed, it is closed only to make room in the network with
   * the most connections.
   */
  graceMs?: number
  slowBodies?: SlowBodyLimit
}

interface Connection {
  /** The socket of the connection. It becomes the TLS socket when the TLS handshake is done. */
  socket: Socket
  /** The time at which the connection was accepted, in monotonic milliseconds. */
  since: number
}

/** Creates a limit. All servers that are passed to the returned function share it. */
export function createConnectionLimit(
  { share, perAddress, graceMs = 2000, slowBodies = defaultSlowBodyLimit }: HttpConnections,
  isProxy: IsProxy,
) {
  const all = new Set<Connection>()
  const networks = new Map<string, Set<Connection>>()
  const isCrowded = (network: Set<Connection>) => all.size > share.max / 2 || network.size > perAddress / 2
  const slow = createSlowBodies(all, () => networks.values().some(isCrowded), slowBodies)

  function evict(socket: Socket, reason: Reason, address: string) {
    leaveHttp(socket)
    socket.destroy()
    share.evicted(reason, address)
  }

  function evictSlowest(candidates: Set<Connection>, reason: Reason, address: string): boolean {
    const socket = slow.takeSlowest(candidates)?.socket
    if (!socket) return false
    if (!responseOf(socket)!.headersSent) socket.write(tooSlow)
    evict(socket, reason, address)
    return true
  }

  /**
   * Closes the oldest idle connection that was accepted before this time, and returns whether one of the examined connections was closed.
   */
  function evictOne(candidates: Set<Connection>, acceptedBefore: number, reason: Reason, address: string): boolean {
    for (const connection of candidates.values().take(examinedMax).toArray()) {
      const { socket, since } = connection
      if (since < acceptedBefore && !responseOf(socket)) {
        evict(socket, reason, address)
        return true
      }
      // A connection that stays open moves to the end, so that the next search examines other connections first.
      candidates.delete(connection)
      candidates.add(connection)
    }
    return false
  }

  /**
   * Closes a connection of the network that has the most connections, even a new connection. Does nothing and returns false if this network
   * has at most `ownCount` connections: the number that the network of the accepted connection would have.
   */
  function evictFromLargest(ownCount: number, address: string): boolean {
    let largest: Set<Connection> | undefined
    for (const network of networks.values()) if (network.size > (largest?.size ?? ownCount)) largest = network
    return largest !== undefined && evictOne(largest, Number.POSITIVE_INFINITY, 'total', address)
  }

  function reasonToRefuse(networkConnections: Set<Connection>, address: string): Reason | undefined {
    const before = monotonicMs() - graceMs
    if (
      networkConnections.size >= perAddress &&
      !isProxy(address, 0) &&
      !evictOne(networkConnections, before, 'address', address) &&
      !evictSlowest(networkConnections, 'address', address)
    )
      return 'address'
    if (all.size < share.max || evictOne(all, before, 'total', address)) return undefined
    if (evictFromLargest(networkConnections.size + 1, address)) return undefined
    return evictSlowest(all, 'total', address) ? undefined : 'total'
  }

  /** Returns the connection, or undefined if it is refused. */
  function accept(socket: Socket, isSecure: boolean): Connection | undefined {
    const address = plainAddress(socket.remoteAddress)
    const network = networkOf(address)
    const reason = reasonToRefuse(networks.get(network) ?? new Set(), address)
    if (reason) {
      share.refused(reason, address)
      // On a secure port, no text is sent, because there is no TLS session yet that could encrypt it.
      if (!isSecure) socket.write(refusals[reason])
      // The socket is destroyed without waiting for the client, so that the descriptor is free immediately.
      socket.destroy()
      return undefined
    }
    // The entry is read again, because the eviction may have removed the last connection of this network.
    const networkConnections = networks.get(network) ?? new Set()
    const connection = { socket, since: monotonicMs() }
    all.add(connection)
    networks.set(network, networkConnections.add(connection))
    share.open++
    if (isCrowded(networkConnections)) slow.watch()
    const leave = () => {
      if (!leaveFunctions.delete(socket)) return
      all.delete(connection)
      networkConnections.delete(connection)
      if (networkConnections.size === 0) networks.delete(network)
      share.open--
    }
    leaveFunctions.set(socket, leave)
    socket.once('close', leave)
    return connection
  }

  return (server: Server | SecureServer) => limitServer(server, accept)
}

type Accept = (socket: Socket, isSecure: boolean) => Connection | undefined

/** Counts the connections of a server. Connections over TLS are counted from the start of their handshake. */
function limitServer(server: Server | SecureServer, accept: Accept) {
  if (!(server instanceof SecureServer)) return void server.on('connection', (socket: Socket) => accept(socket, false))
  const handshakes = new WeakMap<Socket, Connection>()
  followHandshakes(server, {
    started(socket) {
      const connection = accept(socket, true)
      if (connection) handshakes.set(socket, connection)
    },
    completed(secured, socket) {
      const connection = handshakes.get(socket)
      const leave = leaveFunctions.get(socket)
      // The connection was evicted during the handshake.
      if (!connection || !leave) return void secured.destroy()
      connection.socket = secured
      leaveFunctions.set(secured, leave)
    },
  })
}
