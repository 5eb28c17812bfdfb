import { contract } from '../kernel/contract.ts'
import type { DeviceEndpoint, DeviceMessage, Push } from '../kernel/device.ts'

/**
 * `sent`: handed to the endpoint's connection. `queued`: kept for its session, durably, until it comes back. `offline`: it has
 * neither; the device asks when it returns.
 */
export type Delivery = 'sent' | 'queued' | 'offline'

export interface Gateway {
  /** To the endpoint's current connection, wherever that is. */
  send(endpointId: string, push: Push): Promise<Delivery>
  isConnected(endpointId: string): boolean
  /** Says what stands behind an extension that the gateway speaks itself; until then it answers as if there were nothing. */
  attach(behind: Partial<Behind>): void
}
export const Gateway = contract<Gateway>('gateway')

/** What the services behind the extensions have to offer; words and answers on the wire are the gateway's part. */
export interface Behind {
  dcx: DataCollection
  cmx: Configurations
  cmx_ota: Configurations
  cex: Commands
  bcx: Uploads
}

export interface DataCollection {
  /** The samples of one message, stored when it resolves; one that cannot be stored refuses the message with its reason. */
  collect(message: DeviceMessage, samples: unknown[]): Promise<void>
}

export interface Configuration {
  /** Absent: the default one. */
  name?: string
  configId: string
  config: unknown
}

export interface Configurations {
  current(endpoint: DeviceEndpoint, name: string | undefined): Promise<Configuration | undefined>
  /** False for a `configId` that this endpoint was never to apply; it is not recorded then. */
  applied(
    endpoint: DeviceEndpoint,
    report: { name?: string; configId: string; statusCode: number; reasonPhrase?: string },
  ): Promise<boolean>
  /** Those whose last applied `configId` is another than the current one: pushed when the endpoint connects. */
  outdated(endpoint: DeviceEndpoint): Promise<Configuration[]>
}

export interface OutstandingCommand {
  id: number
  type: string
  payload?: unknown
}

export interface Commands {
  /** All types without one. */
  outstanding(endpoint: DeviceEndpoint, type?: string): Promise<OutstandingCommand[]>
  /** How many of them were of outstanding commands; the others are ignored. */
  results(
    endpoint: DeviceEndpoint,
    type: string,
    results: { id: number; statusCode: number; reasonPhrase?: string; payload?: unknown }[],
  ): Promise<number>
}

export interface Uploads {
  /** A new upload token, bound to the endpoint. */
  issue(endpoint: DeviceEndpoint): Promise<string>
}
