/**
 * Which connection represents an endpoint. A PUBLISH moves it to its own connection (roaming); a SUBSCRIBE binds it only while it
 * has none. Whatever ends the right to speak ends the binding, and a connection that represents nobody else goes with it.
 */
import type { Kit } from '../kernel/define-service.ts'
import { EndpointUnregistered, VersionUpdated } from '../services/register/events.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import type { Identified } from './identify.ts'
import { absent, type Device, forgetRoutes, hasSpokenFor, join, type Presence, part } from './peers.ts'
import { EndpointsMoved } from './signals.ts'

export interface Bindings {
  find(endpointId: string): Presence | undefined
  all(): IterableIterator<Presence>
  count(): number
  /** `moves`: also away from another connection. Undefined: it stays where it is. */
  bind(connection: Device, who: Identified, moves: boolean): Presence | undefined
  /** For a last word of somebody whose connection has gone: it was there, and left. Nobody who is there now has to make way. */
  visit(connection: Device, who: Identified): Presence
  /** The connection ended. */
  release(connection: Device): void
  /** It may not speak any more. */
  expel(presence: Presence, why: string): void
  /** The binding was written under this number. */
  numbered(presence: Presence, number: number): void
  /** Another node has the endpoint by a binding that this one must not replace. */
  lost(presence: Presence, number: number): void
}

/** Endpoints that moved to another node and may speak here again. */
const movedMax = 20_000

export interface Watch {
  bound(presence: Presence): void
  unbound(presence: Presence, connection: Device): void
  visited(presence: Presence, connection: Device): void
}

export function createBindings({ bus, signals, now }: Pick<Kit, 'bus' | 'signals' | 'now'>, watch: Watch): Bindings {
  const presences = new Map<string, Presence>()
  /** Those that were noted already: of several last words one is enough. */
  const visits = new WeakMap<Device, Set<string>>()
  /** By endpoint, the number of the binding on another node that replaced the one of this node. */
  const moved = new Map<string, number>()

  function unbind(presence: Presence) {
    const { connection } = presence
    if (!connection) return
    presence.connection = undefined
    part(connection.state, presence)
    if (presences.get(presence.endpointId) === presence) presences.delete(presence.endpointId)
    watch.unbound(presence, connection)
  }

  function expel(presence: Presence, why: string) {
    const { connection } = presence
    if (!connection) return
    forgetRoutes(connection.state)
    unbind(presence)
    if (!connection.state.endpoints) connection.close('not_authorized', why)
  }

  function endToken(endpointId: string, endpointTokenId: string, why: string) {
    const presence = presences.get(endpointId)
    if (!presence) return
    // It may have spoken with several tokens: what was decided by this one must not hold any longer.
    if (presence.connection) forgetRoutes(presence.connection.state)
    if (presence.endpointTokenId === endpointTokenId) expel(presence, why)
  }

  bus.hear(TokenStatusChanged, ({ endpointId, endpointTokenId, to }) => {
    if (to === 'Suspended' || to === 'Revoked')
      endToken(endpointId, endpointTokenId, `its token was ${to.toLowerCase()}`)
  })
  bus.hear(TokensDeleted, ({ tokens }) => {
    for (const { endpointId, endpointTokenId } of tokens) endToken(endpointId, endpointTokenId, 'its token was deleted')
  })
  bus.hear(EndpointUnregistered, ({ endpointIds }) => {
    for (const endpointId of endpointIds) {
      const presence = presences.get(endpointId)
      if (presence) expel(presence, 'its endpoint was unregistered')
    }
  })
  // What was decided for the version that it had does not hold: the device's next word decides anew.
  bus.hear(VersionUpdated, ({ endpointId, versionName }) => {
    const presence = presences.get(endpointId)
    if (presence) presence.versionName = versionName
  })

  function lost(presence: Presence, number: number) {
    const { endpointId } = presence
    if (presences.get(endpointId) !== presence) return
    unbind(presence)
    moved.delete(endpointId)
    moved.set(endpointId, number)
    if (moved.size > movedMax) moved.delete(moved.keys().next().value!)
  }

  signals.on(EndpointsMoved, ({ endpoints }) => {
    for (const [endpointId, number] of endpoints) {
      const presence = presences.get(endpointId)
      if (!presence) continue
      // While it is being written, the database decides which of the two is the later one.
      if (presence.number === 0) presence.movedBy = Math.max(presence.movedBy, number)
      else if (presence.number < number) lost(presence, number)
    }
  })

  return {
    find: (endpointId) => presences.get(endpointId),
    all: () => presences.values(),
    count: () => presences.size,

    bind(connection, who, moves) {
      const { endpointId, tenant, versionName, token, endpointTokenId } = who
      const known = presences.get(endpointId)
      if (known && known.connection === connection && known.tenant === tenant) {
        Object.assign(known, { versionName, token, endpointTokenId })
        return known
      }
      if (known && !moves) return undefined
      if (known) unbind(known)
      const follows = Math.max(known?.number ?? 0, known?.follows ?? 0, moved.get(endpointId) ?? 0)
      const presence: Presence = {
        ...absent(who, connection.claim, follows),
        connection,
        boundAt: now().getTime(),
      }
      moved.delete(endpointId)
      presences.set(endpointId, presence)
      join(connection.state, presence)
      watch.bound(presence)
      return presence
    },

    visit(connection, who) {
      const { endpointId } = who
      const presence: Presence = { ...absent(who, connection.claim), boundAt: now().getTime() }
      const seen = visits.get(connection) ?? new Set()
      const known = presences.has(endpointId) || seen.has(endpointId) || hasSpokenFor(connection.state, endpointId)
      if (known) return presence
      visits.set(connection, seen.add(endpointId))
      watch.visited(presence, connection)
      return presence
    },

    release(connection) {
      while (connection.state.endpoints) unbind(connection.state.endpoints)
    },

    expel,

    numbered(presence, number) {
      if (presence.number >= number) return
      presence.number = number
      if (presence.movedBy > number) lost(presence, presence.movedBy)
    },

    lost,
  }
}
