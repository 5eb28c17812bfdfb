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

interface State extends Pick<Kit, 'now'> {
  watch: Watch
  presences: Map<string, Presence>
  /** Endpoints whose visit was reported, by connection: one report for several last messages is enough. */
  visits: WeakMap<Device, Set<string>>
  /** By endpoint, the number of the binding on another node that replaced the one of this node. */
  moved: Map<string, number>
}

export function createBindings(kit: Pick<Kit, 'bus' | 'signals' | 'now'>, watch: Watch): Bindings {
  const presences = new Map<string, Presence>()
  const state: State = { now: kit.now, watch, presences, visits: new WeakMap(), moved: new Map() }
  followEvents(kit.bus, state)
  kit.signals.on(EndpointsMoved, ({ endpoints }) => {
    for (const [endpointId, number] of endpoints) {
      const presence = presences.get(endpointId)
      if (!presence) continue
      // While it is being written, the database decides which of the two is the later one.
      if (presence.number === 0) presence.movedBy = Math.max(presence.movedBy, number)
      else if (presence.number < number) lose(state, presence, number)
    }
  })
  return {
    find: (endpointId) => presences.get(endpointId),
    all: () => presences.values(),
    count: () => presences.size,
    bind: (connection, who, moves) => bind(state, connection, who, moves),
    visit: (connection, who) => visit(state, connection, who),
    release(connection) {
      while (connection.state.endpoints) unbind(state, connection.state.endpoints)
    },
    expel: (presence, why) => expel(state, presence, why),
    numbered(presence, number) {
      if (presence.number >= number) return
      presence.number = number
      if (presence.movedBy > number) lose(state, presence, presence.movedBy)
    },
    lost: (presence, number) => lose(state, presence, number),
  }
}

function followEvents(bus: Kit['bus'], state: State) {
  const { presences } = state
  bus.hear(TokenStatusChanged, ({ endpointId, endpointTokenId, to }) => {
    if (to === 'Suspended' || to === 'Revoked')
      endToken(state, endpointId, endpointTokenId, `its token was ${to.toLowerCase()}`)
  })
  bus.hear(TokensDeleted, ({ tokens }) => {
    for (const { endpointId, endpointTokenId } of tokens)
      endToken(state, endpointId, endpointTokenId, 'its token was deleted')
  })
  bus.hear(EndpointUnregistered, ({ endpointIds }) => {
    for (const endpointId of endpointIds) {
      const presence = presences.get(endpointId)
      if (presence) expel(state, presence, 'its endpoint was unregistered')
    }
  })
  // What was decided for the old version does not hold: the next message of the device decides anew.
  bus.hear(VersionUpdated, ({ endpointId, versionName }) => {
    const presence = presences.get(endpointId)
    if (presence) presence.versionName = versionName
  })
}

function bind(state: State, connection: Device, who: Identified, moves: boolean): Presence | undefined {
  const { presences, moved } = state
  const { endpointId, tenant, versionName, token, endpointTokenId } = who
  const known = presences.get(endpointId)
  if (known && known.connection === connection && known.tenant === tenant) {
    Object.assign(known, { versionName, token, endpointTokenId })
    return known
  }
  if (known && !moves) return undefined
  if (known) unbind(state, known)
  const follows = Math.max(known?.number ?? 0, known?.follows ?? 0, moved.get(endpointId) ?? 0)
  const presence: Presence = {
    ...absent(who, connection.claim, follows),
    connection,
    boundAt: state.now().getTime(),
  }
  moved.delete(endpointId)
  presences.set(endpointId, presence)
  join(connection.state, presence)
  state.watch.bound(presence)
  return presence
}

function visit({ presences, visits, watch, now }: State, connection: Device, who: Identified): Presence {
  const { endpointId } = who
  const presence: Presence = { ...absent(who, connection.claim), boundAt: now().getTime() }
  const seen = visits.get(connection) ?? new Set()
  const known = presences.has(endpointId) || seen.has(endpointId) || hasSpokenFor(connection.state, endpointId)
  if (known) return presence
  visits.set(connection, seen.add(endpointId))
  watch.visited(presence, connection)
  return presence
}

function unbind({ presences, watch }: State, presence: Presence) {
  const { connection } = presence
  if (!connection) return
  presence.connection = undefined
  part(connection.state, presence)
  if (presences.get(presence.endpointId) === presence) presences.delete(presence.endpointId)
  watch.unbound(presence, connection)
}

function expel(state: State, presence: Presence, why: string) {
  const { connection } = presence
  if (!connection) return
  forgetRoutes(connection.state)
  unbind(state, presence)
  if (!connection.state.endpoints) connection.close('not_authorized', why)
}

function endToken(state: State, endpointId: string, endpointTokenId: string, why: string) {
  const presence = state.presences.get(endpointId)
  if (!presence) return
  // The client may have used several tokens: routes that were decided by this one must not hold any longer.
  if (presence.connection) forgetRoutes(presence.connection.state)
  if (presence.endpointTokenId === endpointTokenId) expel(state, presence, why)
}

/** Another node has the endpoint now. */
function lose(state: State, presence: Presence, number: number) {
  const { presences, moved } = state
  const { endpointId } = presence
  if (presences.get(endpointId) !== presence) return
  unbind(state, presence)
  moved.delete(endpointId)
  moved.set(endpointId, number)
  if (moved.size > movedMax) moved.delete(moved.keys().next().value!)
}
