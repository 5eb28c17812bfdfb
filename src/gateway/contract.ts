import { contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'

/**
 * Outcome of a push. `delivered`: acknowledged with PUBACK, or written at QoS 0. `queued`: stored in the session of a disconnected client.
 * `offline`: dropped; the device can request the data when it reconnects. `sent`: written, but no outcome within 30 s.
 */
export type Delivery = 'delivered' | 'queued' | 'offline' | 'sent'

export interface Sending {
  /** Resolves with the outcome and never rejects. If the transaction of the push is rolled back, the promise stays pending. */
  delivery: Promise<Delivery>
}

/** In a call of `observe`, this name means all names of the extension. */
export const everyName = ''

/** The reason why no device got a push. `/metrics` counts the pushes by reason. */
export type NotSentReason =
  | 'not_connected'
  | 'not_observed'
  | 'extension_not_allowed'
  | 'queue_full'
  | 'packet_too_large'
  | 'token_not_valid'

/** A message that a network between device and platform has received, such as a LoRaWAN uplink. */
export interface CarriedMessage {
  endpoint: DeviceEndpoint
  extension: string
  resourcePath: string
  payload: Buffer
  /** The time for samples in the message that contain no time. */
  sampleTime?: Date
  /** Additional information for the traffic log, such as the network. */
  metadata: Record<string, unknown>
}

export interface Gateway {
  /**
   * Passes a message to its extension and the traffic log as if the device had sent it to this platform. Resolves when the extension and
   * the traffic log have stored the message, with the status that the device would get: 401 if the tenant is not available, 404 if the
   * version may not use the extension.
   */
  receive(message: CarriedMessage): Promise<{ statusCode: number; reasonPhrase?: string }>
  /**
   * Sends a push to the connection of the endpoint, on any node, or queues it in the session. With the `sql` of a `db.tx` it is sent
   * with the commit; with `db.sql` immediately. A push whose name the device does not observe is `offline`.
   */
  send(sql: Sql, endpointId: string, push: Push): Promise<Sending>
  /**
   * Sends a push to a connection of this node only. No session keeps the message after the connection ends, so that a service that sends
   * again on connect sends nothing twice. `latest` is called directly before the push is sent, because something may have changed during
   * the checks. Its result replaces the push; undefined withdraws it.
   */
  sendHere(
    endpointId: string,
    push: Push,
    latest?: () => Push | undefined,
  ): Promise<'sent' | 'withdrawn' | NotSentReason>
  /** Returns whether the endpoint is connected to this node. */
  isConnected(endpointId: string): boolean
  /** Returns the endpoint if it is connected to this node. */
  connectedEndpoint(endpointId: string): DeviceEndpoint | undefined
  /** Yields the endpoints that are connected to this node. */
  connectedHere(): Iterable<DeviceEndpoint>
  /** Returns an object that identifies the current connection of the endpoint on this node. Each connect gives another object. */
  connectionOf(endpointId: string): object | undefined
  /** Returns the other living nodes that have connections of these endpoints, by endpoint id. */
  nodesOf(sql: Sql, endpointIds: string[]): Promise<Map<string, string>>
  /**
   * Stores whether the device subscribes to pushes of this name (`Push.name`); committed when it resolves. `everyName` replaces the
   * settings of single names.
   */
  observe(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
}
export const Gateway = contract<Gateway>('gateway')
