/**
 * How many MQTT connections may be open: in total, and from one address. When a limit is reached, the oldest connection that
 * nobody can vouch for is evicted, so that new devices get in; when there is none, the newcomer is refused.
 *
 * A `stranger` has presented neither credentials nor a valid token. A connection is `idle` when it has presented a token and
 * represents no endpoint (any more), and `protected` while it has credentials or represents an endpoint.
 */
import type { Duplex } from 'node:stream'
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import type { ConnectionShare } from '../kernel/file-descriptors.ts'
import type { Accepted, From, Transport } from './mqtt/host.ts'
import { type Device, isBusy, type Peer } from './peers.ts'

/** `closing`: evicted or gone, and never anything else again. */
export type Standing = 'stranger' | 'idle' | 'protected' | 'closing'

/** One accepted connection, from its first byte on. */
export interface Slot extends From {
  readonly network: string
  standing: Standing
  /** Monotonic milliseconds: when it was accepted, then when CONNACK left. */
  since: number
  /** What the session layer has made of the socket; undefined before the TLS or WebSocket handshake is done. */
  accepted: Accepted<Peer> | undefined
  socket: Duplex
}

export interface ConnectionLimits {
  /** Undefined: the socket is to be destroyed. A slot with a `refusal` is there to answer its CONNECT only. */
  arrive(transport: Transport, address: string, socket: Duplex): Slot | undefined
  leave(slot: Slot): void
  /** CONNACK has left. */
  opened(slot: Slot): void
  stands(slot: Slot, standing: Standing): void
}

/** Strangers have this long after CONNACK before the limit of their address may evict them. */
const graceMs = 2000
/** Refused connections that are kept open until their CONNECT can be answered. */
const answeredAtOnce = 32
/** Connections that are looked at to find one that may be evicted. */
const lookedAtMax = 64

/** Connections that may be evicted, the oldest first. */
interface Evictable {
  stranger: Set<Slot>
  idle: Set<Slot>
}
const why = 'the room is needed for other connections'
const newEvictable = (): Evictable => ({ stranger: new Set(), idle: new Set() })

export function createConnectionLimits(deps: {
  share: ConnectionShare
  strangersPerAddress: number
  /** 0: no limit but that of the share. */
  perAddress: number
  refused(transport: Transport, address: string, reason: string): void
  now?(): number
}): ConnectionLimits {
  const { share, now = monotonicMs } = deps
  const perAddress = deps.perAddress || Number.POSITIVE_INFINITY
  const all = newEvictable()
  const networks = new Map<string, Evictable & { open: number }>()
  let answering = 0

  function place(slot: Slot, standing: Standing) {
    const ofNetwork = networks.get(slot.network)!
    for (const { stranger, idle } of [all, ofNetwork]) {
      stranger.delete(slot)
      idle.delete(slot)
    }
    slot.standing = standing
    if (standing === 'protected' || standing === 'closing') return
    all[standing].add(slot)
    ofNetwork[standing].add(slot)
  }

  function evictOne(from: Evictable, reason: 'address' | 'total', before = Infinity): boolean {
    for (const slots of [from.stranger, from.idle]) {
      const slot = slots
        .values()
        .take(lookedAtMax)
        .find(({ since, accepted }) => since < before && !(accepted && isBusy(accepted)))
      if (!slot) continue
      place(slot, 'closing')
      share.evicted(reason, slot.address)
      deps.refused(slot.transport, slot.address, 'evicted')
      if (slot.accepted) slot.accepted.evict(why)
      else slot.socket.destroy()
      return true
    }
    return false
  }

  function refuse(slot: Slot, reason: 'address' | 'total') {
    share.refused(reason, slot.address)
    deps.refused(slot.transport, slot.address, 'too_many_connections')
    return answering < answeredAtOnce
      ? Object.assign(slot, {
          standing: 'closing' as const,
          refusal: reason === 'total' ? ('busy' as const) : ('quota_exceeded' as const),
        })
      : undefined
  }

  return {
    arrive(transport, address, socket) {
      const network = networkOf(address)
      const at = now()
      const slot: Slot = { transport, address, network, standing: 'stranger', since: at, accepted: undefined, socket }
      const known = networks.get(network)
      let refused: Slot | undefined
      if (known && known.open >= perAddress && !evictOne(known, 'address')) refused = refuse(slot, 'address')
      else if (share.open >= share.max && !evictOne(all, 'total')) refused = refuse(slot, 'total')
      else {
        const ofNetwork = known ?? { ...newEvictable(), open: 0 }
        networks.set(network, ofNetwork)
        ofNetwork.open++
        share.open++
        // Devices behind one address may all come at once: those that have just arrived are not evicted for the next ones.
        if (ofNetwork.stranger.size >= deps.strangersPerAddress) evictOne(ofNetwork, 'address', at - graceMs)
        place(slot, 'stranger')
        return slot
      }
      if (!refused) return undefined
      answering++
      share.open++
      return refused
    },

    leave(slot) {
      share.open--
      if (slot.refusal) {
        answering--
        return
      }
      place(slot, 'closing')
      const ofNetwork = networks.get(slot.network)!
      if (--ofNetwork.open === 0) networks.delete(slot.network)
    },

    opened(slot) {
      slot.since = now()
    },

    stands(slot, standing) {
      if (slot.standing === 'closing' || slot.standing === standing) return
      slot.since = now()
      place(slot, standing)
    },
  }
}

/** Every connection has a slot. */
export const slotOf = ({ from }: Device) => from as Slot
