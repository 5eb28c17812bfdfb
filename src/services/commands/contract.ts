import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'
import type { EndpointWork } from '../register/contract.ts'

export interface NewInvocation {
  endpointId: string
  commandType: string
  /** Any JSON value; absent: a command without payload. */
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
  /** PENDING: the wait ended before a result arrived. */
  status: 'PENDING' | 'EXECUTED' | 'EXPIRED'
  /** HTTP status that the device reports; absent: not executed. */
  statusCode?: number
  reasonPhrase?: string
}

/** A command for the endpoints of a job. */
export interface CommandForMany {
  commandType: string
  /** Any JSON value; absent: a command without payload. */
  payload?: unknown
  /** Milliseconds until the command expires; 0: only devices that are connected get it. */
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

/** A service that hands commands over to devices that have no connection to the gateway. It ignores endpoints that are not its own. */
export interface CommandCarrier {
  /** Called in the transaction that stores commands, so that the node that reaches the devices gets a signal with the commit. */
  committing(sql: Sql, endpoints: EndpointKey[]): Promise<void>
  /** Called after that commit. */
  committed(endpoints: EndpointKey[]): void
  /** Hands over a command with `commandTtl=0`. Returns false if the device cannot be reached now. */
  once(endpoint: EndpointKey, command: OutstandingCommand): Promise<boolean>
}

export interface Commands {
  addCarrier(carrier: CommandCarrier): void
  /** Returns the outstanding commands of an endpoint, oldest first, as many as fit a message to a device. */
  outstanding(endpoint: EndpointKey): Promise<OutstandingCommand[]>
  /** Returns, of these endpoints, the ids of those with outstanding commands. */
  waiting(endpoints: EndpointKey[]): Promise<Set<string>>
  /** Records that a carrier has handed commands over. */
  handedOver(endpoint: EndpointKey, commands: OutstandingCommand[]): void
  /** Invokes a command without waiting for its result; returns its id. Throws the errors that the HTTP operation answers. */
  invoke(ctx: Ctx, command: NewInvocation): Promise<number>
  /** Invokes a command and waits up to `awaitMs` for its result. Throws the errors that the HTTP operation answers. */
  invokeAndWait(ctx: Ctx, command: NewInvocation, awaitMs: number): Promise<AwaitedCommand>
  /**
   * Stores results in the name of a device, for services that stand between the platform and devices. Returns how many belong to
   * outstanding commands; the others are ignored.
   */
  results(endpoint: DeviceEndpoint, type: string, results: CommandResult[]): Promise<number>
  /** A command for many endpoints as a bulk task. */
  work: EndpointWork<CommandForMany>
}
export const Commands = contract<Commands>('commands')
