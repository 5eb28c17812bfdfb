import { contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'

/**
 * Outcome of a push. `delivered`: acknowledged with PUBACK, or written at QoS 0. `queued`: stored in the session of a disconnected
 * client. `offline`: dropped; the device asks when it reconnects. `sent`: written, but without an outcome within 30 s.
 */
export type Delivery = 'delivered' | 'queued' | 'offline' | 'sent'

export interface Sending {
  /** Resolves with the outcome and never rejects. It stays pending if the transaction of the push is rolled back. */
  delivery: Promise<Delivery>
}

/** Stands for all names of an extension in `observe`. */
export const everyName = ''

export interface Gateway {
  /**
   * Sends a push to the connection of the endpoint, on any node, or queues it in the session. With the `sql` of a `db.tx` it is sent
   * with the commit; with `db.sql` immediately. A push whose name the device does not observe is `offline`.
   */
  send(sql: Sql, endpointId: string, push: Push): Promise<Sending>
  isConnected(endpointId: string): boolean
  /** Yields the endpoints that are connected to this node. */
  connectedHere(): Iterable<DeviceEndpoint>
  /**
   * Stores whether the device wants pushes of this name (`Push.name`); committed when it resolves. `everyName` replaces the settings
   * of single names.
   */
  observe(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
}
export const Gateway = contract<Gateway>('gateway')
