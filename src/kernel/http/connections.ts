/**
 * Limits open HTTP connections, in total and per address. At a limit, the oldest connection without a running request is closed in
 * favour of the new one. If all are busy, the new connection is refused with 503.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type IsProxy, networkOf, plainAddress } from '../client-address.ts'
import { monotonicMs } from '../clock.ts'
import type { ConnectionShare } from '../file-descriptors.ts'

/** Maximum number of connections that are examined to find one that may be closed. */
const examinedMax = 64

type Reason = 'total' | 'address'

const refusalResponse = (message: string) => {
  const body = JSON.stringify({ message })
  return [
    'HTTP/1.1 503 Service Unavailable',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Retry-After: 1',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
const refusals: Record<Reason, string> = {
  total: refusalResponse('Too many connections'),
  address: refusalResponse('Too many connections from this address'),
}

const leaveFunctions = new WeakMap<Duplex, () => void>()

/** Stops counting a connection that became another protocol, such as WebSocket: the limit of that protocol counts it. */
export const leaveHttp = (socket: Duplex) => leaveFunctions.get(socket)?.()

export interface HttpConnections {
  share: Pick<ConnectionShare, 'max' | 'open' | 'refused' | 'evicted'>
  /** Limit for one IPv4 address or IPv6 /64. Trusted proxies carry the requests of many clients and have no such limit. */
  perAddress: number
  /** Time for the first request of a new connection, before it may be closed in favour of another one. */
  graceMs?: number
}

interface Connection {
  socket: Socket
  /** When it was accepted, in monotonic milliseconds. */
  since: number
}

/** Creates a limit; all servers that are passed to the returned function share it. */
export function createConnectionLimit({ share, perAddress, graceMs = 2000 }: HttpConnections, isProxy: IsProxy) {
  const all = new Set<Connection>()
  const networks = new Map<string, Set<Connection>>()

  function evictOne(candidates: Set<Connection>, acceptedBefore: number, reason: Reason, address: string): boolean {
    for (const connection of candidates.values().take(examinedMax).toArray()) {
      const { socket, since } = connection
      if (since < acceptedBefore && !isBusy(socket)) {
        leaveHttp(socket)
        socket.destroy()
        share.evicted(reason, address)
        return true
      }
      // Moves it to the end, so that the next search examines others.
      candidates.delete(connection)
      candidates.add(connection)
    }
    return false
  }

  /** Closes a connection of the network that has most, even a new one, in favour of a network with at most `size`. */
  function evictFromLargest(size: number, address: string): boolean {
    let largest: Set<Connection> | undefined
    for (const network of networks.values()) if (network.size > (largest?.size ?? size)) largest = network
    return largest !== undefined && evictOne(largest, Number.POSITIVE_INFINITY, 'total', address)
  }

  function reasonToRefuse(networkConnections: Set<Connection>, address: string): Reason | undefined {
    const before = monotonicMs() - graceMs
    if (
      networkConnections.size >= perAddress &&
      !isProxy(address, 0) &&
      !evictOne(networkConnections, before, 'address', address)
    )
      return 'address'
    if (all.size < share.max || evictOne(all, before, 'total', address)) return undefined
    return evictFromLargest(networkConnections.size + 1, address) ? undefined : 'total'
  }

  function accept(socket: Socket) {
    const address = plainAddress(socket.remoteAddress)
    const network = networkOf(address)
    const reason = reasonToRefuse(networks.get(network) ?? new Set(), address)
    if (reason) {
      share.refused(reason, address)
      socket.write(refusals[reason])
      // Does not wait for the client, so that the descriptor is free immediately.
      socket.destroy()
      return
    }
    // Read again: the eviction may have removed the last connection of this network.
    const networkConnections = networks.get(network) ?? new Set()
    const connection = { socket, since: monotonicMs() }
    all.add(connection)
    networks.set(network, networkConnections.add(connection))
    share.open++
    const leave = () => {
      if (!leaveFunctions.delete(socket)) return
      all.delete(connection)
      networkConnections.delete(connection)
      if (networkConnections.size === 0) networks.delete(network)
      share.open--
    }
    leaveFunctions.set(socket, leave)
    socket.once('close', leave)
  }

  return (server: Server) => void server.on('connection', accept)
}

/** Returns whether a request of the connection is being processed or read: Node.js has assigned a response to it. */
const isBusy = (socket: Socket) => (socket as { _httpMessage?: unknown })._httpMessage != null
