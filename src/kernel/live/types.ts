/** Topics of live streams: services define them and publish their events; the service `live` subscribes callers to them. */
import type { Ctx } from '../contract.ts'

/** The origin of an event. Fields that do not apply are absent. */
export interface LiveOrigin {
  tenantId: string
  applicationName?: string | undefined
  endpointId?: string | undefined
}

export interface LiveEvent extends LiveOrigin {
  /** A text by which clients recognise an event that is delivered again. Absent if clients can handle an event twice without an effect. */
  id?: string | undefined
  /** Values that subscriptions filter by, named as the fields of a subscription. */
  facets?: Readonly<Record<string, string>> | undefined
  /** The event as JSON, or a function that builds the JSON. `textOf` calls the function once for all streams. */
  text: string | (() => string)
}

/** Returns the event as JSON. */
export function textOf(event: LiveEvent): string {
  if (typeof event.text === 'function') event.text = event.text()
  return event.text
}

/**
 * The reason why events may be missing. `missed`: nodes lost contact, or one died. `too_old`, `too_many`: the history does not reach back
 * far enough. `too_slow`: the client read too slowly. `no_history`: the topic has no history.
 */
export type GapReason = 'missed' | 'too_old' | 'too_many' | 'too_slow' | 'no_history'

export interface HistoryQuery {
  tenantIds: readonly string[]
  applicationName: string | undefined
  endpointIds: readonly string[] | undefined
  facets: ReadonlyMap<string, ReadonlySet<string>>
  /** The history begins at this time, in microseconds since 1970. */
  since: number
  /** Maximum number of events. If there are more, the result is `too_many`. */
  limit: number
}

/** The fields by which a subscription filters, besides the application and endpoints. */
export type FacetName =
  | 'versionNames'
  | 'directions'
  | 'extensions'
  | 'seriesNames'
  | 'reasons'
  | 'severities'
  | 'alertTypes'
  | 'jobIds'
  | 'by'

/** The filters of a subscription to a value. */
export interface ValueQuery {
  applicationName: string | undefined
  facets: ReadonlyMap<string, ReadonlySet<string>>
}

/** A value that is read periodically. Streams get it when it has changed. Subscriptions with the same key share the reads. */
export interface LiveValue {
  everySeconds: number
  keyOf(ctx: Ctx, query: ValueQuery): string
  /** Reads the value and returns it as JSON. */
  read(ctx: Ctx, query: ValueQuery): Promise<string>
}

export interface TopicDefinition {
  name: string
  /** Description in the list of topics. */
  description: string
  /** The scopes that a caller needs. They are the scopes of the operation that reads the same data. */
  scopes: readonly string[]
  /**
   * `endpoint`: the caller needs the scopes on each endpoint whose events are delivered. `tenant`: it needs them on the tenant. `event`:
   * `mayRead` decides for each event.
   */
  on: 'endpoint' | 'tenant' | 'event'
  /** Returns whether the caller may read an event, for `on: 'event'`. */
  mayRead?(ctx: Ctx, event: LiveEvent): boolean
  facets: readonly FacetName[]
  /** True if a subscription has to name an application. */
  needsApplication?: boolean
  /** True if subscriptions can filter by applications. Default: true for `on: 'endpoint'`, otherwise false. */
  hasApplications?: boolean
  /** True if subscriptions can filter by endpoints. Default: the value of `hasApplications`. */
  hasEndpoints?: boolean
  /** True if each node finds the events itself, so that events are not forwarded. */
  isLocal?: boolean
  /** Called when the first subscription of this node starts, and when the last subscription ends. */
  watched?(isWatched: boolean): void
  /** True if a new subscription first gets the history, that is, the current state of what it watches. */
  beginsWithHistory?: boolean
  /** True if events may have no tenant (''). Callers with the scope on the platform get these events. */
  withoutTenant?: boolean
  /** Present if the topic delivers a value instead of events. */
  value?: LiveValue
  /**
   * When a stream resumes from the time of its last event, it reads the history from this long before that time, because an event can be
   * stored later than its time.
   */
  slackSeconds?: number
  /** Reads stored events, oldest first. Without this function, a stream that resumes gets a `gap` event. */
  history?(query: HistoryQuery): Promise<LiveEvent[] | GapReason>
}

/** The functions by which the service that defines a topic publishes its events. */
export interface LiveTopic {
  /** Returns whether any node has a subscription. It is called while device messages are processed, so it must be fast. */
  isActive(): boolean
  /** Returns whether a subscription may include events of this origin. Events need to be built only then. */
  isWanted(origin: LiveOrigin): boolean
  /** Delivers events to the streams of all nodes. Call it after the commit. */
  publish(events: LiveEvent[]): void
  /** The tenants that have subscriptions on this node. */
  tenantsHere(): string[]
}

/** The events of a topic that a node needs: the events of a tenant, of one of its applications or of an endpoint. */
export interface Interest {
  topic: string
  tenantId: string
  kind: 'tenant' | 'application' | 'endpoint'
  /** Name of the application or id of the endpoint; empty for a tenant. */
  name: string
}
