/** What the gateway keeps of a connection, and of an endpoint that speaks over one. */
import type { Addressed } from './dispatch.ts'
import { newTraffic, type Traffic, type TrafficRate } from './limits.ts'
import type { Accepted, Connection, Qos } from './mqtt/host.ts'
import type { Method, Tenant } from './tenants.ts'
import { prefixEnd } from './topic.ts'

/** What a client has shown of itself. */
export interface Shown {
  tenantId: string
  credentialIds: string[]
  methods: Method[]
  /** Asks again: after something may have been missed. */
  holds(): Promise<boolean>
}

export interface Peer {
  /** Absent for anonymous clients. */
  shown: Shown | undefined
  /** Whether anybody knows by now who is there: by credentials or by a token. */
  known: boolean
  /** Ids of the tokens that an anonymous client has presented on this connection; mostly it is one. */
  presented: string | Set<string> | undefined
  /** What was decided for messages that begin with the same `kp1/<version>/<extension>/<token>`: the one that was used last. */
  lastRoute: Route | undefined
  /** All of them by their beginning, once there is a second: most devices never have one. */
  routes: Map<string, Route> | undefined
  /** The endpoints that it represents: the first of a list, since most have one only. */
  endpoints: Presence | undefined
  subscriptions: Map<string, Qos> | undefined
  /** Until messages before have been identified: what comes behind keeps its order. */
  waiting: Promise<unknown> | undefined
  traffic: Traffic
  /** Wrong tokens that were counted already: a device that repeats one does not lock its neighbours out. */
  refused: Set<string> | undefined
  slowed: boolean
  /** Endpoints that subscriptions name and nobody has looked up yet. */
  lookups: number
}

export type Device = Connection<Peer>

/** True: the platform has yet to answer CONNECT, or to look up a token that the client has presented. */
export function isBusy({ open, client, state }: Accepted<Peer>): boolean {
  if (!open) return client !== undefined
  return state !== undefined && (state.waiting !== undefined || state.lookups > 0)
}

/** An endpoint with a connection: this one represents it, and no other. */
export interface Presence {
  readonly endpointId: string
  readonly applicationName: string
  readonly tenant: Tenant
  /** The one that the register has. */
  versionName: string
  /** What the device spoke with last: answers of our own go to topics with it. */
  token: string
  endpointTokenId: string
  /** Undefined: it has gone, or speaks over another one. */
  connection: Device | undefined
  /** Milliseconds since the epoch, for reports only. */
  boundAt: number
  /** Of the connection's CONNECT. */
  readonly claim: number
  /** The greatest number of a binding of this endpoint that this node knew when it was bound. */
  readonly follows: number
  /** Of this binding in the database; 0 until it is written. */
  number: number
  /** The greatest number of a binding on another node that was heard of before `number` was known. */
  movedBy: number
  /** In the list of its connection. */
  next: Presence | undefined
  previous: Presence | undefined
}

type Identity = Pick<
  Presence,
  'endpointId' | 'applicationName' | 'tenant' | 'versionName' | 'token' | 'endpointTokenId'
>

/** For a last message whose connection has ended already. */
export const absent = (who: Identity, claim: number, follows = 0): Presence => ({
  endpointId: who.endpointId,
  applicationName: who.applicationName,
  tenant: who.tenant,
  versionName: who.versionName,
  token: who.token,
  endpointTokenId: who.endpointTokenId,
  connection: undefined,
  boundAt: 0,
  claim,
  follows,
  number: 0,
  movedBy: 0,
  next: undefined,
  previous: undefined,
})

/** It represents this endpoint from now on. */
export function join(peer: Peer, presence: Presence) {
  presence.next = peer.endpoints
  if (peer.endpoints) peer.endpoints.previous = presence
  peer.endpoints = presence
}

/** And not any more. */
export function part(peer: Peer, presence: Presence) {
  const { next, previous } = presence
  if (previous) previous.next = next
  else if (peer.endpoints === presence) peer.endpoints = next
  if (next) next.previous = previous
  presence.next = undefined
  presence.previous = undefined
}

export interface Route extends Addressed {
  presence: Presence
  /** Of the token in the prefix. */
  endpointTokenId: string
  generation: number
  prefix: string
}

export const newPeer = (shown: Shown | undefined, rate: TrafficRate): Peer => ({
  shown,
  known: shown !== undefined,
  presented: undefined,
  lastRoute: undefined,
  routes: undefined,
  endpoints: undefined,
  subscriptions: undefined,
  waiting: undefined,
  traffic: newTraffic(rate),
  refused: undefined,
  slowed: false,
  lookups: 0,
})

/** Notes that the client has presented this token. */
export function present(peer: Peer, endpointTokenId: string) {
  if (peer.presented === undefined) peer.presented = endpointTokenId
  else if (typeof peer.presented !== 'string') peer.presented.add(endpointTokenId)
  else if (peer.presented !== endpointTokenId) peer.presented = new Set([peer.presented, endpointTokenId])
}

export const hasPresented = ({ presented }: Peer, endpointTokenId: string): boolean =>
  typeof presented === 'string' ? presented === endpointTokenId : presented?.has(endpointTokenId) === true

/** What was decided for messages that begin so, as long as it holds. */
export function routeFor(connection: Device, topic: string): Route | undefined {
  const peer = connection.state
  let route = peer.lastRoute
  // Without a look into the map: the text of a prefix would have to be made and hashed for it, with every message.
  if (route === undefined || !beginsWith(topic, route.prefix)) {
    const end = prefixEnd(topic)
    route = end < 0 ? undefined : peer.routes?.get(topic.slice(0, end))
    if (route === undefined) return undefined
    peer.lastRoute = route
  }
  return holds(route, connection) ? route : undefined
}

/** A prefix has all its levels: what follows is another, or nothing. */
const beginsWith = (topic: string, prefix: string) =>
  topic.startsWith(prefix) && (topic.length === prefix.length || topic.charCodeAt(prefix.length) === slash)
const slash = 47

const routesMax = 20_000

export function keepRoute(peer: Peer, route: Route) {
  if (peer.routes && peer.routes.size >= routesMax) forgetRoutes(peer)
  const last = peer.lastRoute
  if (last && last.prefix !== route.prefix) peer.routes ??= new Map([[last.prefix, last]])
  peer.routes?.set(route.prefix, route)
  peer.lastRoute = route
}

/** Whether it has represented this endpoint, as far as is remembered. */
export const hasSpokenFor = ({ lastRoute, routes }: Peer, endpointId: string): boolean =>
  [...(lastRoute ? [lastRoute] : []), ...(routes?.values() ?? [])].some(
    ({ endpoint }) => endpoint.endpointId === endpointId,
  )

/** What was decided has to be decided anew. */
export function forgetRoutes(peer: Peer) {
  peer.routes = undefined
  peer.lastRoute = undefined
}

/** Whether what was decided still holds. */
const holds = ({ presence, generation, endpoint }: Route, connection: Device): boolean =>
  presence.connection === connection &&
  generation === presence.tenant.generation &&
  presence.versionName === endpoint.versionName
