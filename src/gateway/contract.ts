import { contract } from '../kernel/contract.ts'
import type { DeviceEndpoint, Push } from '../kernel/device.ts'

/**
 * `sent`: handed to the endpoint's connection. `queued`: kept for its session, durably, until it comes back. `offline`: it has
 * neither; the device asks when it returns.
 */
export type Delivery = 'sent' | 'queued' | 'offline'

/** The name that stands for all names of an extension. */
export const everyName = ''

export interface Gateway {
  /** To the endpoint's current connection, wherever that is. A push whose name the device does not observe is `offline`. */
  send(endpointId: string, push: Push): Promise<Delivery>
  isConnected(endpointId: string): boolean
  /**
   * Notes whether the device wants pushes of this name (`Push.name`); durable when it resolves. `everyName` replaces what
   * was said about single names.
   */
  observe(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
}
export const Gateway = contract<Gateway>('gateway')
