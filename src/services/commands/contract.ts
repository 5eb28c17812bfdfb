import { contract } from '../../kernel/contract.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'

export interface OutstandingCommand {
  id: number
  type: string
  payload?: unknown
}

export interface CommandResult {
  id: number
  statusCode: number
  reasonPhrase?: string
  payload?: unknown
}

export interface Commands {
  /** Returns the outstanding commands of a type, or of all types. */
  outstanding(endpoint: DeviceEndpoint, type?: string): Promise<OutstandingCommand[]>
  /** Returns how many results belong to outstanding commands; the others are ignored. */
  results(endpoint: DeviceEndpoint, type: string, results: CommandResult[]): Promise<number>
}
export const Commands = contract<Commands>('commands')
