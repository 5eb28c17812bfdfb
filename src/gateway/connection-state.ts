/** The gateway's state of a connection, and of the endpoints that are bound to it. */
import type { Destination } from './dispatch.ts'
import type { Subscribed } from './host/subscribed.ts'
import type { Accepted, Connection } from './mqtt/host.ts'
import { newTraffic, type Traffic, type TrafficRate } from './rate-limits.ts'
import type { Method, Tenant } from './tenants.ts'
import { prefixEnd } from './topic.ts'

/** The credentials with which a client has authenticated. */
export interface Authentication {
  tenantId: string
  credentialIds: string[]
  methods: Method[]
  /** When the client certificate expires; undefined without a certificate. */
  validUntil?: Date | undefined
  /** Verifies the credentials again. Called after events may have been missed. */
  isStillValid(): Promise<boolean>
}

export interface ConnectionState {
  /** The credentials of the client; undefined if the client is anonymous. */
  authentication: Authentication | undefined
  /** True once the client has presented credentials or a valid token. */
  isIdentified: boolean
  /** Ids of the tokens that an anonymous client has presented on this connection. A single id is stored as a string, several as a set. */
  presentedTokens: string | Set<string> | undefined
  /** The route that was used last. */
  lastRoute: Route | undefined
  /** All routes by prefix. The map is created with the second route, because most devices have only one route. */
  routes: Map<string, Route> | undefined
  /** Head of a linked list: the endpoints that the connection represents. */
  endpoints: Binding | undefined
  subscriptions: Subscribed | undefined
  /**
   * Settles when the endpoints of all earlier messages are identified; undefined if none is being identified. Later messages wait for this
   * promise, to keep their order.
   */
  identifying: Promise<unknown> | undefined
  traffic: Traffic
  /** Wrong tokens of this connection that the lockout has counted. A token that is repeated is not counted again. */
  countedTokens: Set<string> | undefined
  isSlowedDown: boolean
  /** Number of endpoints that the client's subscriptions name and that are still to be looked up. */
  pendingLookups: number
}

export type DeviceConnection = Connection<ConnectionState>

/** Returns true while CONNECT is not answered yet, or a presented token is being looked up. */
export function isBusy({ open, client, state }: Accepted<ConnectionState>): boolean {
  if (!open) return client !== undefined
  return state !== undefined && (state.identifying !== undefined || state.pendingLookups > 0)
}

/** The record that a connection represents an endpoint. An endpoint has at most one connection. */
export interface Binding {
  readonly endpointId: string
  readonly applicationName: string
  readonly tenant: Tenant
  /** The version of the endpoint in the register. */
  versionName: string
  /** The token that the device used last. Topics of pushes contain it. */
  token: string
  endpointTokenId: string
  /** Undefined after the endpoint has disconnected or moved to another connection. */
  connection: DeviceConnection | undefined
  /** When the endpoint was bound, in milliseconds since the epoch. Used only in reports, never to order bindings. */
  boundAt: number
  /** Claim number of the CONNECT that opened the connection. A later CONNECT of the client has a higher number (session-claims.ts). */
  readonly claim: number
  /** The highest number of an earlier binding of the endpoint that this node knew when it bound the endpoint. */
  readonly follows: number
  /** Number of this binding in the database; 0 until it is written. */
  number: number
  /** The highest number of a binding on another node, from signals that arrived before `number` was known. */
  replacedByNumber: number
  /** Links in the list of the connection's bindings. */
  next: Binding | undefined
  previous: Binding | undefined
}

type Identity = Pick<Binding, 'endpointId' | 'applicationName' | 'tenant' | 'versionName' | 'token' | 'endpointTokenId'>

/** Creates a binding without a connection. */
export const newBinding = (identified: Identity, claim: number, follows = 0): Binding => ({
  endpointId: identified.endpointId,
  applicationName: identified.applicationName,
  tenant: identified.tenant,
  versionName: identified.versionName,
  token: identified.token,
  endpointTokenId: identified.endpointTokenId,
  connection: undefined,
  boundAt: 0,
  claim,
  follows,
  number: 0,
  replacedByNumber: 0,
  next: undefined,
  previous: undefined,
})

/** Adds the binding to the list of its connection. */
export function addBinding(state: ConnectionState, binding: Binding) {
  binding.next = state.endpoints
  if (state.endpoints) state.endpoints.previous = binding
  state.endpoints = binding
}

/** Removes the binding from the list of its connection. */
export function removeBinding(state: ConnectionState, binding: Binding) {
  const { next, previous } = binding
  if (previous) previous.next = next
  else if (state.endpoints === binding) state.endpoints = next
  if (next) next.previous = previous
  binding.next = undefined
  binding.previous = undefined
}

/** The destination of messages with the same prefix `kp1/<version>/<extension>/<token>`. */
export interface Route extends Destination {
  binding: Binding
  /** Id of the token in the prefix. */
  endpointTokenId: string
  generation: number
  prefix: string
}

export const newConnectionState = (authentication: Authentication | undefined, rate: TrafficRate): ConnectionState => ({
  authentication,
  isIdentified: authentication !== undefined,
  presentedTokens: undefined,
  lastRoute: undefined,
  routes: undefined,
  endpoints: undefined,
  subscriptions: undefined,
  identifying: undefined,
  traffic: newTraffic(rate),
  countedTokens: undefined,
  isSlowedDown: false,
  pendingLookups: 0,
})

/** Records that the client has presented this token. */
export function addPresentedToken(state: ConnectionState, endpointTokenId: string) {
  if (state.presentedTokens === undefined) state.presentedTokens = endpointTokenId
  else if (typeof state.presentedTokens !== 'string') state.presentedTokens.add(endpointTokenId)
  else if (state.presentedTokens !== endpointTokenId)
    state.presentedTokens = new Set([state.presentedTokens, endpointTokenId])
}

export const hasPresentedToken = ({ presentedTokens }: ConnectionState, endpointTokenId: string): boolean =>
  typeof presentedTokens === 'string'
    ? presentedTokens === endpointTokenId
    : presentedTokens?.has(endpointTokenId) === true

/** Returns the cached route of the topic if it is still valid. */
export function findRoute(connection: DeviceConnection, topic: string): Route | undefined {
  const state = connection.state
  let route = state.lastRoute
  // The last route is compared first, because a map lookup needs a new string and its hash for each message.
  if (route === undefined || !hasPrefix(topic, route.prefix)) {
    const end = prefixEnd(topic)
    route = end < 0 ? undefined : state.routes?.get(topic.slice(0, end))
    if (route === undefined) return undefined
    state.lastRoute = route
  }
  return isRouteValid(route, connection) ? route : undefined
}

/** Returns true if the topic is the prefix, or continues it with another level. */
const hasPrefix = (topic: string, prefix: string) =>
  topic.startsWith(prefix) && (topic.length === prefix.length || topic.charCodeAt(prefix.length) === slash)
const slash = 47

const routesMax = 20_000

export function cacheRoute(state: ConnectionState, route: Route) {
  if (state.routes && state.routes.size >= routesMax) invalidateRoutes(state)
  const last = state.lastRoute
  if (last && last.prefix !== route.prefix) state.routes ??= new Map([[last.prefix, last]])
  state.routes?.set(route.prefix, route)
  state.lastRoute = route
}

/** Returns true if a cached route shows that the connection has represented this endpoint. */
export const hasRepresented = (state: ConnectionState, endpointId: string): boolean =>
  routesOf(state).some(({ endpoint }) => endpoint.endpointId === endpointId)

/** Returns the cached routes. The last route may occur twice. */
export const routesOf = ({ lastRoute, routes }: ConnectionState): Route[] => [
  ...(lastRoute ? [lastRoute] : []),
  ...(routes?.values() ?? []),
]

/** Invalidates the routes: the next messages are identified again. */
export function invalidateRoutes(state: ConnectionState) {
  state.routes = undefined
  state.lastRoute = undefined
}

const isRouteValid = ({ binding, generation, endpoint }: Route, connection: DeviceConnection): boolean =>
  binding.connection === connection &&
  generation === binding.tenant.generation &&
  binding.versionName === endpoint.versionName
