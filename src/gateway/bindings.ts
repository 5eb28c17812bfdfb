/**
 * Binds endpoints to the connections that represent them. A PUBLISH moves the endpoint to its connection; a SUBSCRIBE binds only an
 * endpoint without one. Revocation removes the binding, and closes the connection if it represents no other endpoint.
 */
import type { Kit } from '../kernel/define-service.ts'
import { EndpointUnregistered, VersionUpdated } from '../services/register/events.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import {
  addBinding,
  type Binding,
  type DeviceConnection,
  forgetRoutes,
  hasRepresented,
  newBinding,
  removeBinding,
} from './connection-state.ts'
import type { Identified } from './identify.ts'
import { EndpointsMoved } from './signals.ts'

export interface Bindings {
  find(endpointId: string): Binding | undefined
  all(): IterableIterator<Binding>
  count(): number
  /** `moves`: also if another connection has the endpoint. Returns undefined if the endpoint stays there. */
  bind(connection: DeviceConnection, identified: Identified, moves: boolean): Binding | undefined
  /** Reports an endpoint whose connection closed before it was identified. It does not replace another binding. */
  reportTransient(connection: DeviceConnection, identified: Identified): Binding
  /** Removes all bindings of a closed connection. */
  release(connection: DeviceConnection): void
  /** Removes the binding because the endpoint lost its permission. */
  revoke(binding: Binding, why: string): void
  /** Sets the number under which the binding was written. */
  numbered(binding: Binding, number: number): void
  /** Removes the binding because the database has a later one on another node. */
  movedAway(binding: Binding, number: number): void
}

/** Limits the endpoints that moved to another node and may return. */
const movedMax = 20_000

export interface BindingObserver {
  bound(binding: Binding): void
  unbound(binding: Binding, connection: DeviceConnection): void
  transient(binding: Binding, connection: DeviceConnection): void
}

interface State extends Pick<Kit, 'now'> {
  observer: BindingObserver
  bindings: Map<string, Binding>
  /** Endpoints that were reported as transient, by connection: several last messages make one report. */
  reportedTransients: WeakMap<DeviceConnection, Set<string>>
  /** By endpoint, the number of the binding on another node that replaced the one of this node. */
  moved: Map<string, number>
}

export function createBindings(kit: Pick<Kit, 'bus' | 'signals' | 'now'>, observer: BindingObserver): Bindings {
  const bindings = new Map<string, Binding>()
  const state: State = { now: kit.now, observer, bindings, reportedTransients: new WeakMap(), moved: new Map() }
  followEvents(kit.bus, state)
  kit.signals.on(EndpointsMoved, ({ endpoints }) => {
    for (const [endpointId, number] of endpoints) {
      const binding = bindings.get(endpointId)
      if (!binding) continue
      // The number of this binding is not known yet: compare when the database has assigned it.
      if (binding.number === 0) binding.movedBy = Math.max(binding.movedBy, number)
      else if (binding.number < number) moveAway(state, binding, number)
    }
  })
  return {
    find: (endpointId) => bindings.get(endpointId),
    all: () => bindings.values(),
    count: () => bindings.size,
    bind: (connection, identified, moves) => bind(state, connection, identified, moves),
    reportTransient: (connection, identified) => reportTransient(state, connection, identified),
    release(connection) {
      while (connection.state.endpoints) unbind(state, connection.state.endpoints)
    },
    revoke: (binding, why) => revoke(state, binding, why),
    numbered(binding, number) {
      if (binding.number >= number) return
      binding.number = number
      if (binding.movedBy > number) moveAway(state, binding, binding.movedBy)
    },
    movedAway: (binding, number) => moveAway(state, binding, number),
  }
}

function followEvents(bus: Kit['bus'], state: State) {
  const { bindings } = state
  bus.subscribe(TokenStatusChanged, ({ endpointId, endpointTokenId, to }) => {
    if (to === 'Suspended' || to === 'Revoked')
      endToken(state, endpointId, endpointTokenId, `its token was ${to.toLowerCase()}`)
  })
  bus.subscribe(TokensDeleted, ({ tokens }) => {
    for (const { endpointId, endpointTokenId } of tokens)
      endToken(state, endpointId, endpointTokenId, 'its token was deleted')
  })
  bus.subscribe(EndpointUnregistered, ({ endpointIds }) => {
    for (const endpointId of endpointIds) {
      const binding = bindings.get(endpointId)
      if (binding) revoke(state, binding, 'its endpoint was unregistered')
    }
  })
  // Invalidates routes of the old version: the next message is identified again.
  bus.subscribe(VersionUpdated, ({ endpointId, versionName }) => {
    const binding = bindings.get(endpointId)
    if (binding) binding.versionName = versionName
  })
}

function bind(state: State, connection: DeviceConnection, identified: Identified, moves: boolean): Binding | undefined {
  const { bindings, moved } = state
  const { endpointId, tenant, versionName, token, endpointTokenId } = identified
  const known = bindings.get(endpointId)
  if (known && known.connection === connection && known.tenant === tenant) {
    Object.assign(known, { versionName, token, endpointTokenId })
    return known
  }
  if (known && !moves) return undefined
  if (known) unbind(state, known)
  const follows = Math.max(known?.number ?? 0, known?.follows ?? 0, moved.get(endpointId) ?? 0)
  const binding: Binding = {
    ...newBinding(identified, connection.claim, follows),
    connection,
    boundAt: state.now().getTime(),
  }
  moved.delete(endpointId)
  bindings.set(endpointId, binding)
  addBinding(connection.state, binding)
  state.observer.bound(binding)
  return binding
}

function reportTransient(
  { bindings, reportedTransients, observer, now }: State,
  connection: DeviceConnection,
  identified: Identified,
): Binding {
  const { endpointId } = identified
  const binding: Binding = { ...newBinding(identified, connection.claim), boundAt: now().getTime() }
  const seen = reportedTransients.get(connection) ?? new Set()
  const known = bindings.has(endpointId) || seen.has(endpointId) || hasRepresented(connection.state, endpointId)
  if (known) return binding
  reportedTransients.set(connection, seen.add(endpointId))
  observer.transient(binding, connection)
  return binding
}

function unbind({ bindings, observer }: State, binding: Binding) {
  const { connection } = binding
  if (!connection) return
  binding.connection = undefined
  removeBinding(connection.state, binding)
  if (bindings.get(binding.endpointId) === binding) bindings.delete(binding.endpointId)
  observer.unbound(binding, connection)
}

function revoke(state: State, binding: Binding, why: string) {
  const { connection } = binding
  if (!connection) return
  forgetRoutes(connection.state)
  unbind(state, binding)
  if (!connection.state.endpoints) connection.close('not_authorized', why)
}

function endToken(state: State, endpointId: string, endpointTokenId: string, why: string) {
  const binding = state.bindings.get(endpointId)
  if (!binding) return
  // Routes may depend on this token even if the client has used another one since.
  if (binding.connection) forgetRoutes(binding.connection.state)
  if (binding.endpointTokenId === endpointTokenId) revoke(state, binding, why)
}

/** Removes the binding and remembers the number of the one on another node that replaced it. */
function moveAway(state: State, binding: Binding, number: number) {
  const { bindings, moved } = state
  const { endpointId } = binding
  if (bindings.get(endpointId) !== binding) return
  unbind(state, binding)
  moved.delete(endpointId)
  moved.set(endpointId, number)
  if (moved.size > movedMax) moved.delete(moved.keys().next().value!)
}
