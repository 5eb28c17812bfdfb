import { Type } from '../../../../kernel/schema.ts'
import { commandType } from '../names.ts'
import { example, type TriggerTypeDefinition } from './trigger-type.ts'

export const endpointCommandResultReceived: TriggerTypeDefinition = {
  type: 'endpoint-command-result-received',
  title: 'EndpointCommandResultReceivedTrigger',
  description: 'Fires when the device of an endpoint sends the result of a command.',
  fields: {
    commandType: Type.Optional(commandType('Fires only for commands of this type. If absent: for all types.')),
  },
  example: { ...example, commandType: 'reboot' },
}
