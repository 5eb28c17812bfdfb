import { contract } from '../kernel/contract.ts'
import type { DeviceEndpoint, DeviceMessage, Push } from '../kernel/device.ts'

/**
 * `sent`: handed to the endpoint's connection. `queued`: kept for its session, durably, until it comes back. `offline`: it has
 * neither; the device asks when it returns.
 */
export type Delivery = 'sent' | 'queued' | 'offline'

export interface Gateway {
  /**
   * To the endpoint's current connection, wherever that is. What the device asked not to get (`observe: false`) stays here
   * and is `offline`: the device asks for it.
   */
  send(endpointId: string, push: Push): Promise<Delivery>
  isConnected(endpointId: string): boolean
  /**
   * Says what stands behind an extension that the gateway speaks itself, until then it answers as if there were nothing; and who
   * is to know of every connection that comes and goes.
   * Samples (dcx) may have several receivers, all others have one.
   */
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
  connectivity: ConnectivityWatch
}

export interface ConnectivityChange {
  endpoint: DeviceEndpoint
  connected: boolean
  at: Date
}

export interface ConnectivityWatch {
  /** By the batch, in the order in which it happened to each endpoint; a batch that fails is told again, a few times. */
  changed(changes: ConnectivityChange[]): Promise<void>
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

/** As it goes to a device: what `send` takes when an effective configuration or target version has changed. */
export const configurationPush = (extension: 'cmx' | 'cmx_ota', configuration: Configuration): Push => ({
  extension,
  resourcePath:
    (configuration.name ?? defaultConfiguration) === defaultConfiguration
      ? '/config/json'
      : `/config/json/${configuration.name}`,
  payload: configurationPayload(configuration),
})

/** The name of the one that has none on the wire. */
export const defaultConfiguration = 'default'

/** Existing firmware ignores a configuration without these words (document 3, 2.C). */
export const configurationPayload = ({ configId, config }: Pick<Configuration, 'configId' | 'config'>) => ({
  configId,
  config,
  statusCode: 200,
  reasonPhrase: 'ok',
})

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

/** As they go to a device: what `send` takes when commands of a type were invoked. */
export const commandPush = (type: string, commands: Omit<OutstandingCommand, 'type'>[]): Push => ({
  extension: 'cex',
  resourcePath: `/command/${type}`,
  payload: commands.map(commandPayload),
})

export const commandPayload = ({ id, payload }: Omit<OutstandingCommand, 'type'>) => ({
  id,
  ...(payload !== undefined && { payload }),
})

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
