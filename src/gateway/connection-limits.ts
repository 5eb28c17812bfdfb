/**
 * Limits the number of open MQTT connections, in total and from one address. At a limit, the oldest evictable connection is closed to make
 * room for the new connection. If no connection is evictable, the new connection is refused. README.md describes the rules.
 */
import type { Duplex } from 'node:stream'
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import type { ConnectionShare } from '../kernel/file-descriptors.ts'
import { type ConnectionState, type DeviceConnection, isBusy } from './connection-state.ts'
import type { Accepted, Origin, Transport } from './mqtt/host.ts'

/**
 * Class of a connection, in the order of eviction. `anonymous`: has presented neither credentials nor a valid token. `idle`: has presented
 * a token, but represents no endpoint now. `protected`: has credentials or represents an endpoint, never evicted. `closing`: evicted or
 * closed.
 */
export type EvictionClass = 'anonymous' | 'idle' | 'protected' | 'closing'

/** An accepted connection. It is counted even before its TLS or WebSocket handshake. */
export interface Slot extends Origin {
  readonly network: string
  evictionClass: EvictionClass
  /** When the connection was accepted, CONNACK was sent or the eviction class changed, whichever was last, in monotonic milliseconds. */
  changedAt: number
  /** The connection of the MQTT layer; undefined before the TLS or WebSocket handshake is done. */
  accepted: Accepted<ConnectionState> | undefined
  socket: Duplex
}

export interface ConnectionLimits {
  /**
   * Counts a new connection. Returns undefined if the connection must be destroyed. A slot with a `refusal` stays open only to answer its
   * CONNECT.
   */
  acquireSlot(transport: Transport, address: string, socket: Duplex): Slot | undefined
  releaseSlot(slot: Slot): void
  /** Called when CONNACK was sent. */
  markConnected(slot: Slot): void
  setEvictionClass(slot: Slot, evictionClass: EvictionClass): void
}

/** Anonymous connections have this long after CONNACK before the limit of their address may evict them. */
const graceMs = 2000
/** Maximum number of refused connections that stay open until their CONNECT is answered. */
const refusedOpenMax = 32
/** Maximum number of connections that are examined to find a connection that may be evicted. */
const evictionCandidatesMax = 64

/** Connections that may be evicted, the oldest first. */
interface Evictable {
  anonymous: Set<Slot>
  idle: Set<Slot>
}
const evictionReason = 'the connection limit is reached, and other clients need the connection'
const newEvictable = (): Evictable => ({ anonymous: new Set(), idle: new Set() })

export function createConnectionLimits(deps: {
  share: ConnectionShare
  anonymousPerAddress: number
  /** Maximum number of connections from one address. 0 means that there is no limit for a single address. */
  perAddress: number
  recordRefusal(transport: Transport, address: string, reason: string): void
  now?(): number
}): ConnectionLimits {
  const { share, now = monotonicMs } = deps
  const perAddress = deps.perAddress || Number.POSITIVE_INFINITY
  const all = newEvictable()
  const networks = new Map<string, Evictable & { open: number }>()
  let refusedOpen = 0

  function assignClass(slot: Slot, evictionClass: EvictionClass) {
    const ofNetwork = networks.get(slot.network)!
    for (const { anonymous, idle } of [all, ofNetwork]) {
      anonymous.delete(slot)
      idle.delete(slot)
    }
    slot.evictionClass = evictionClass
    if (evictionClass === 'protected' || evictionClass === 'closing') return
    all[evictionClass].add(slot)
    ofNetwork[evictionClass].add(slot)
  }

  function evictOne(from: Evictable, reason: 'address' | 'total', before = Infinity): boolean {
    for (const slots of [from.anonymous, from.idle]) {
      const slot = slots
        .values()
        .take(evictionCandidatesMax)
        .find(({ changedAt, accepted }) => changedAt < before && !(accepted && isBusy(accepted)))
      if (!slot) continue
      assignClass(slot, 'closing')
      share.evicted(reason, slot.address)
      deps.recordRefusal(slot.transport, slot.address, 'evicted')
      if (slot.accepted) slot.accepted.evict(evictionReason)
      else slot.socket.destroy()
      return true
    }
    return false
  }

  function refuse(slot: Slot, reason: 'address' | 'total') {
    share.refused(reason, slot.address)
    deps.recordRefusal(slot.transport, slot.address, 'too_many_connections')
    return refusedOpen < refusedOpenMax
      ? Object.assign(slot, {
          evictionClass: 'closing' as const,
          refusal: reason === 'total' ? ('busy' as const) : ('quota_exceeded' as const),
        })
      : undefined
  }

  return {
    acquireSlot(transport, address, socket) {
      const network = networkOf(address)
      const at = now()
      const state = { evictionClass: 'anonymous' as const, changedAt: at, accepted: undefined }
      const slot: Slot = { transport, address, network, socket, ...state }
      const sameNetwork = networks.get(network)
      let refused: Slot | undefined
      if (sameNetwork && sameNetwork.open >= perAddress && !evictOne(sameNetwork, 'address'))
        refused = refuse(slot, 'address')
      else if (share.open >= share.max && !evictOne(all, 'total')) refused = refuse(slot, 'total')
      else {
        const ofNetwork = sameNetwork ?? { ...newEvictable(), open: 0 }
        networks.set(network, ofNetwork)
        ofNetwork.open++
        share.open++
        // A fleet behind one address may reconnect at the same time, so connections in their grace period are not evicted.
        if (ofNetwork.anonymous.size >= deps.anonymousPerAddress) evictOne(ofNetwork, 'address', at - graceMs)
        assignClass(slot, 'anonymous')
        return slot
      }
      if (!refused) return undefined
      refusedOpen++
      share.open++
      return refused
    },

    releaseSlot(slot) {
      share.open--
      if (slot.refusal) {
        refusedOpen--
        return
      }
      assignClass(slot, 'closing')
      const ofNetwork = networks.get(slot.network)!
      if (--ofNetwork.open === 0) networks.delete(slot.network)
    },

    markConnected(slot) {
      slot.changedAt = now()
    },

    setEvictionClass(slot, evictionClass) {
      if (slot.evictionClass === 'closing' || slot.evictionClass === evictionClass) return
      slot.changedAt = now()
      assignClass(slot, evictionClass)
    },
  }
}

/** Returns the slot of a connection. The listeners create a slot for each connection. */
export const slotOf = ({ origin }: DeviceConnection) => origin as Slot
