/**
 * Binds endpoints to the connections that represent them. A PUBLISH moves the endpoint to the connection of the PUBLISH. A SUBSCRIBE binds
 * an endpoint that has no connection immediately; otherwise the subscriber waits until the endpoint's connection closes. If a token or
 * endpoint becomes invalid, the binding is removed, and the connection is closed if it represents no other endpoint.
 */
import type { Kit } from '../kernel/define-service.ts'
import { EndpointUnregistered, VersionUpdated } from '../services/register/events.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import {
  addBinding,
  type Binding,
  type DeviceConnection,
  hasRepresented,
  invalidateRoutes,
  newBinding,
  removeBinding,
} from './connection-state.ts'
import type { Identified } from './identify.ts'
import { EndpointsMoved } from './signals.ts'
import { createWaitingSubscribers, type WaitingSubscriber, type WaitingSubscribers } from './waiting-subscribers.ts'

export interface Bindings {
  find(endpointId: string): Binding | undefined
  all(): IterableIterator<Binding>
  count(): number
  /** Binds the endpoint to the connection. Returns undefined if another connection represents the endpoint and `replacesOther` is false. */
  bind(connection: DeviceConnection, identified: Identified, replacesOther: boolean): Binding | undefined
  /**
   * Reports the endpoint as connected and then disconnected, because the connection closed before its identification was complete. If
   * another connection represents the endpoint, the binding to the other connection stays.
   */
  reportTransient(connection: DeviceConnection, identified: Identified): Binding
  /** Removes all bindings of a closed connection. Returns the waiting subscribers that can represent the endpoints now. */
  release(connection: DeviceConnection, why: string): WaitingSubscriber[]
  /**
   * Removes the binding because its token, endpoint or tenant is no longer valid. Closes the connection if it represents no other endpoint.
   */
  revoke(binding: Binding, why: string): void
  /** Sets the number that the database has assigned to the binding. */
  setNumber(binding: Binding, number: number): void
  /** Removes the binding because the database has a later binding on another node. */
  removeReplaced(binding: Binding, number: number): void
}

/** Maximum number of entries in `State.replacedNumbers`. */
const replacedNumbersMax = 20_000

export interface BindingObserver {
  bound(binding: Binding): void
  unbound(binding: Binding, connection: DeviceConnection, why: string): void
  transient(binding: Binding, connection: DeviceConnection): void
}

interface State extends Pick<Kit, 'now'> {
  observer: BindingObserver
  bindings: Map<string, Binding>
  /** Endpoints that `reportTransient` has reported, by connection, so that each endpoint is reported once. */
  reportedTransients: WeakMap<DeviceConnection, Set<string>>
  /** Contains, by endpoint id, the number of the binding on another node that has replaced the binding of this node. */
  replacedNumbers: Map<string, number>
  waiting: WaitingSubscribers
}

export function createBindings(kit: Pick<Kit, 'bus' | 'signals' | 'now'>, observer: BindingObserver): Bindings {
  const bindings = new Map<string, Binding>()
  const state: State = {
    now: kit.now,
    observer,
    bindings,
    reportedTransients: new WeakMap(),
    replacedNumbers: new Map(),
    waiting: createWaitingSubscribers(),
  }
  subscribeToEvents(kit.bus, state)
  kit.signals.on(EndpointsMoved, ({ endpoints }) => {
    for (const [endpointId, number] of endpoints) {
      const binding = bindings.get(endpointId)
      if (!binding) continue
      // The database has not assigned the number of this binding yet. `setNumber` compares the two numbers later.
      if (binding.number === 0) binding.replacedByNumber = Math.max(binding.replacedByNumber, number)
      else if (binding.number < number) removeReplaced(state, binding, number)
    }
  })
  return {
    find: (endpointId) => bindings.get(endpointId),
    all: () => bindings.values(),
    count: () => bindings.size,
    bind: (connection, identified, replacesOther) => bind(state, connection, identified, replacesOther),
    reportTransient: (connection, identified) => reportTransient(state, connection, identified),
    release: (connection, why) => release(state, connection, why),
    revoke: (binding, why) => revoke(state, binding, why),
    setNumber(binding, number) {
      if (binding.number >= number) return
      binding.number = number
      if (binding.replacedByNumber > number) removeReplaced(state, binding, binding.replacedByNumber)
    },
    removeReplaced: (binding, number) => removeReplaced(state, binding, number),
  }
}

function subscribeToEvents(bus: Kit['bus'], state: State) {
  const { bindings } = state
  bus.subscribe(TokenStatusChanged, ({ endpointId, endpointTokenId, to }) => {
    if (to === 'Suspended' || to === 'Revoked')
      revokeToken(state, endpointId, endpointTokenId, `its token was ${to.toLowerCase()}`)
  })
  bus.subscribe(TokensDeleted, ({ tokens }) => {
    for (const { endpointId, endpointTokenId } of tokens)
      revokeToken(state, endpointId, endpointTokenId, 'its token was deleted')
  })
  bus.subscribe(EndpointUnregistered, ({ endpointIds }) => {
    for (const endpointId of endpointIds) {
      const binding = bindings.get(endpointId)
      if (binding) revoke(state, binding, 'its endpoint was unregistered')
    }
  })
  // Cached routes with the old version become invalid by this change, so that the next message is identified again.
  bus.subscribe(VersionUpdated, ({ endpointId, versionName }) => {
    const binding = bindings.get(endpointId)
    if (binding) binding.versionName = versionName
  })
}

function bind(
  state: State,
  connection: DeviceConnection,
  identified: Identified,
  replacesOther: boolean,
): Binding | undefined {
  const { bindings, replacedNumbers, waiting } = state
  const { endpointId, tenant, versionName, token, endpointTokenId } = identified
  const existing = bindings.get(endpointId)
  if (existing && existing.connection === connection && existing.tenant === tenant) {
    Object.assign(existing, { versionName, token, endpointTokenId })
    return existing
  }
  if (existing && !replacesOther) {
    waiting.add(connection, endpointId, token)
    return undefined
  }
  waiting.remove(connection, endpointId)
  if (existing) {
    if (existing.connection) waiting.add(existing.connection, endpointId, existing.token)
    unbind(state, existing, 'the endpoint connected again')
  }
  const follows = Math.max(existing?.number ?? 0, existing?.follows ?? 0, replacedNumbers.get(endpointId) ?? 0)
  const binding: Binding = {
    ...newBinding(identified, connection.claim, follows),
    connection,
    boundAt: state.now().getTime(),
  }
  replacedNumbers.delete(endpointId)
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
  const reported = reportedTransients.get(connection) ?? new Set()
  const isReported =
    bindings.has(endpointId) || reported.has(endpointId) || hasRepresented(connection.state, endpointId)
  if (isReported) return binding
  reportedTransients.set(connection, reported.add(endpointId))
  observer.transient(binding, connection)
  return binding
}

function unbind({ bindings, observer }: State, binding: Binding, why: string) {
  const { connection } = binding
  if (!connection) return
  binding.connection = undefined
  removeBinding(connection.state, binding)
  if (bindings.get(binding.endpointId) === binding) bindings.delete(binding.endpointId)
  observer.unbound(binding, connection, why)
}

function release(state: State, connection: DeviceConnection, why: string): WaitingSubscriber[] {
  const { waiting } = state
  const subscribers: WaitingSubscriber[] = []
  waiting.removeAll(connection)
  while (connection.state.endpoints) {
    const { endpointId } = connection.state.endpoints
    unbind(state, connection.state.endpoints, why)
    const subscriber = waiting.find(endpointId)
    if (!subscriber) continue
    waiting.remove(subscriber.connection, endpointId)
    subscribers.push(subscriber)
  }
  return subscribers
}

function revoke(state: State, binding: Binding, why: string) {
  const { connection } = binding
  if (!connection) return
  invalidateRoutes(connection.state)
  unbind(state, binding, why)
  if (!connection.state.endpoints) connection.close('not_authorized', why)
}

function revokeToken(state: State, endpointId: string, endpointTokenId: string, why: string) {
  const binding = state.bindings.get(endpointId)
  if (!binding) return
  // Routes may depend on this token even if the client has used another token since.
  if (binding.connection) invalidateRoutes(binding.connection.state)
  if (binding.endpointTokenId === endpointTokenId) revoke(state, binding, why)
}

/** Removes the binding, and remembers the number of the binding on another node that replaced it. */
function removeReplaced(state: State, binding: Binding, number: number) {
  const { bindings, replacedNumbers } = state
  const { endpointId } = binding
  if (bindings.get(endpointId) !== binding) return
  unbind(state, binding, 'the endpoint connected to another node')
  replacedNumbers.delete(endpointId)
  replacedNumbers.set(endpointId, number)
  if (replacedNumbers.size > replacedNumbersMax) replacedNumbers.delete(replacedNumbers.keys().next().value!)
}
