import { contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'

/**
 * `delivered`: the device's PUBACK has come, or the packet has left at QoS 0. `queued`: kept durably in the session of a client
 * that is away. `offline`: nothing was kept; the device asks when it returns. `sent`: handed to a connection, and nothing more
 * became known within 30 s.
 */
export type Delivery = 'delivered' | 'queued' | 'offline' | 'sent'

export interface Sending {
  /** Never rejects. Stays open when the transaction that the push was to leave with is rolled back. */
  delivery: Promise<Delivery>
}

/** The name that stands for all names of an extension. */
export const everyName = ''

export interface Gateway {
  /**
   * Pushes to the endpoint's connection, on whichever node it is, or into its session. With the `sql` of a `db.tx` the push leaves with
   * its commit or not at all; with `db.sql` at once. A push whose name the device does not observe is `offline`.
   */
  send(sql: Sql, endpointId: string, push: Push): Promise<Sending>
  isConnected(endpointId: string): boolean
  /**
   * Notes whether the device wants pushes of this name (`Push.name`); durable when it resolves. `everyName` replaces what
   * was said about single names.
   */
  observe(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
}
export const Gateway = contract<Gateway>('gateway')
