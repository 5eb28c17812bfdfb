import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'
import type { EndpointWork } from '../register/contract.ts'

export interface NewInvocation {
  endpointId: string
  commandType: string
  /** Any JSON value. If absent, the command has no payload. */
  payload?: unknown
  /** Milliseconds until the command expires. Default: 60000. */
  commandTtl?: number
}

export interface CommandResult {
  id: number
  statusCode: number
  reasonPhrase?: string
  payload?: unknown
}

export interface AwaitedCommand {
  commandId: number
  /** PENDING means that the wait ended before a result arrived. */
  status: 'PENDING' | 'EXECUTED' | 'EXPIRED'
  /** HTTP status that the device reports; absent if the command was not executed. */
  statusCode?: number
  reasonPhrase?: string
}

/** A command for the endpoints of a bulk job. */
export interface CommandForMany {
  commandType: string
  /** Any JSON value. If absent, the command has no payload. */
  payload?: unknown
  /** Milliseconds until the command expires. With 0, only devices that are connected get it. */
  commandTtl: number
}

export interface EndpointKey {
  tenantId: string
  endpointId: string
}

/** A command that waits for its result. */
export interface OutstandingCommand {
  id: number
  type: string
  /** JSON text; null for a command without payload. */
  payload: string | null
}

/**
 * A service that delivers commands to devices that have no connection to the gateway. Its functions are called for all endpoints; the
 * carrier ignores endpoints that it does not serve.
 */
export interface CommandCarrier {
  /**
   * Called in the transaction that stores commands, so that the carrier can send a signal, with the commit, to the node that reaches the
   * devices.
   */
  committing(sql: Sql, endpoints: EndpointKey[]): Promise<void>
  /** Called after the transaction of `committing` has committed. */
  committed(endpoints: EndpointKey[]): void
  /** Delivers a command with `commandTtl=0`. Returns false if the device cannot be reached now. */
  once(endpoint: EndpointKey, command: OutstandingCommand): Promise<boolean>
}

export interface Commands {
  addCarrier(carrier: CommandCarrier): void
  /** Returns the outstanding commands of an endpoint, oldest first, as many as fit into a message to a device. */
  outstanding(endpoint: EndpointKey): Promise<OutstandingCommand[]>
  /** Returns the ids of the endpoints that have outstanding commands. */
  waiting(endpoints: EndpointKey[]): Promise<Set<string>>
  /** Records that a carrier has delivered commands. */
  handedOver(endpoint: EndpointKey, commands: OutstandingCommand[]): void
  /** Invokes a command without waiting for its result. Returns its id. Throws the errors that the HTTP operation returns. */
  invoke(ctx: Ctx, command: NewInvocation): Promise<number>
  /** Invokes a command and waits up to `awaitMs` for its result. Throws the errors that the HTTP operation returns. */
  invokeAndWait(ctx: Ctx, command: NewInvocation, awaitMs: number): Promise<AwaitedCommand>
  /**
   * Stores results on behalf of a device, for services between the platform and devices. Returns how many results belong to outstanding
   * commands; all other results are ignored.
   */
  results(endpoint: DeviceEndpoint, type: string, results: CommandResult[]): Promise<number>
  /** A command for many endpoints as a bulk task. */
  work: EndpointWork<CommandForMany>
}
export const Commands = contract<Commands>('commands')
