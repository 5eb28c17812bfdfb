import { defineEvent } from '../../kernel/bus.ts'

interface OfCommand {
  tenantId: string
  applicationName: string
  endpointId: string
  commandId: number
  commandType: string
  /** Absent if the command has no payload. */
  requestPayload?: unknown
}
const key = ({ endpointId }: OfCommand) => endpointId

export const CommandDispatched = defineEvent<OfCommand>('commands.command.dispatched', {
  description:
    'A command was delivered to its device for the first time, by a push or as the answer to a request (12/CIP)',
  key,
  bulky: true,
})

export const CommandResultReceived = defineEvent<
  OfCommand & { statusCode: number; reasonPhrase?: string; responsePayload?: unknown }
>('commands.command.result-received', {
  description:
    'The device of an endpoint sent the result of a command; later results of this command are ignored (12/CIP)',
  key,
  bulky: true,
})
