import { type Ctx, contract } from '../../kernel/contract.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'

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
  /** PENDING: the wait ended before a result came. */
  status: 'PENDING' | 'EXECUTED' | 'EXPIRED'
  /** HTTP status that the device reports; absent: not executed. */
  statusCode?: number
  reasonPhrase?: string
}

export interface Commands {
  /** Invokes a command without waiting for its result; returns its id. Throws the errors that the HTTP operation answers. */
  invoke(ctx: Ctx, command: NewInvocation): Promise<number>
  /** Invokes a command and waits up to `awaitMs` for its result. Throws the errors that the HTTP operation answers. */
  invokeAndWait(ctx: Ctx, command: NewInvocation, awaitMs: number): Promise<AwaitedCommand>
  /**
   * Stores results in the name of a device, for services that stand between the platform and devices. Returns how many belong to
   * outstanding commands; the others are ignored.
   */
  results(endpoint: DeviceEndpoint, type: string, results: CommandResult[]): Promise<number>
}
export const Commands = contract<Commands>('commands')
