/**
 * Limits the number of open MQTT connections, in total and from one address. At a limit, the oldest evictable connection is closed
 * for the new one; if there is none, the new one is refused. README.md has the rules.
 */
import type { Duplex } from 'node:stream'
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import type { ConnectionShare } from '../kernel/file-descriptors.ts'
import { type ConnectionState, type DeviceConnection, isBusy } from './connection-state.ts'
import type { Accepted, From, Transport } from './mqtt/host.ts'

/**
 * `anonymous`: has presented neither credentials nor a valid token. `idle`: has presented a token, but represents no endpoint now.
 * `protected`: has credentials or represents an endpoint. `closing`: evicted or closed; final.
 */
export type Standing = 'anonymous' | 'idle' | 'protected' | 'closing'

/** Counts one accepted connection, from before its TLS or WebSocket handshake on. */
export interface Slot extends From {
  readonly network: string
  standing: Standing
  /** Monotonic milliseconds of the last change: accepted, CONNACK sent, or another standing. */
  since: number
  /** The connection of the MQTT layer; undefined before the TLS or WebSocket handshake is done. */
  accepted: Accepted<ConnectionState> | undefined
  socket: Duplex
}

export interface ConnectionLimits {
  /** Returns undefined if the socket must be destroyed. A slot with a `refusal` stays open only to answer its CONNECT. */
  arrive(transport: Transport, address: string, socket: Duplex): Slot | undefined
  leave(slot: Slot): void
  /** Called when CONNACK was sent. */
  opened(slot: Slot): void
  setStanding(slot: Slot, standing: Standing): void
}

/** Anonymous connections have this long after CONNACK before the limit of their address may evict them. */
const graceMs = 2000
/** Limits refused connections that are open until their CONNECT is answered. */
const refusedOpenMax = 32
/** Limits how many connections are examined to find one that may be evicted. */
const evictionCandidatesMax = 64

/** Connections that may be evicted, the oldest first. */
interface Evictable {
  anonymous: Set<Slot>
  idle: Set<Slot>
}
const why = 'the room is needed for other connections'
const newEvictable = (): Evictable => ({ anonymous: new Set(), idle: new Set() })

export function createConnectionLimits(deps: {
  share: ConnectionShare
  anonymousPerAddress: number
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
    for (const { anonymous, idle } of [all, ofNetwork]) {
      anonymous.delete(slot)
      idle.delete(slot)
    }
    slot.standing = standing
    if (standing === 'protected' || standing === 'closing') return
    all[standing].add(slot)
    ofNetwork[standing].add(slot)
  }

  function evictOne(from: Evictable, reason: 'address' | 'total', before = Infinity): boolean {
    for (const slots of [from.anonymous, from.idle]) {
      const slot = slots
        .values()
        .take(evictionCandidatesMax)
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
    return answering < refusedOpenMax
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
      const slot: Slot = { transport, address, network, standing: 'anonymous', since: at, accepted: undefined, socket }
      const known = networks.get(network)
      let refused: Slot | undefined
      if (known && known.open >= perAddress && !evictOne(known, 'address')) refused = refuse(slot, 'address')
      else if (share.open >= share.max && !evictOne(all, 'total')) refused = refuse(slot, 'total')
      else {
        const ofNetwork = known ?? { ...newEvictable(), open: 0 }
        networks.set(network, ofNetwork)
        ofNetwork.open++
        share.open++
        // A fleet behind one address may reconnect at once: connections in their grace period are not evicted.
        if (ofNetwork.anonymous.size >= deps.anonymousPerAddress) evictOne(ofNetwork, 'address', at - graceMs)
        place(slot, 'anonymous')
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

    setStanding(slot, standing) {
      if (slot.standing === 'closing' || slot.standing === standing) return
      slot.since = now()
      place(slot, standing)
    },
  }
}

/** Returns the slot of a connection. The listeners create one for each. */
export const slotOf = ({ from }: DeviceConnection) => from as Slot
