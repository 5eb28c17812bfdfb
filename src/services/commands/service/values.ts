/** Converts stored commands to the form that callers get. Payloads are stored as JSON texts. */
import type { CommandRow, CommandStatus } from '../store/commands.ts'

export interface CommandView {
  commandId: number
  commandType: string
  endpointId: string
  status: CommandStatus
  statusCode?: number
  reasonPhrase?: string
  requestPayload?: unknown
  responsePayload?: unknown
  createdAt: Date
  updatedAt: Date
}

/** Parses a text that `JSON.stringify` created or that the request parser accepted. It throws for other texts. */
export const parsed = (text: string): unknown => JSON.parse(text)

export const viewOf = (row: CommandRow): CommandView => ({
  commandId: row.commandId,
  commandType: row.commandType,
  endpointId: row.endpointId,
  status: row.status,
  ...(row.statusCode !== null && { statusCode: row.statusCode }),
  ...(row.reasonPhrase !== null && { reasonPhrase: row.reasonPhrase }),
  ...(row.requestPayload !== null && { requestPayload: parsed(row.requestPayload) }),
  ...(row.responsePayload !== null && { responsePayload: parsed(row.responsePayload) }),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
