import { Type } from '../../../../kernel/schema.ts'
import { commandType } from '../names.ts'
import { example, type TriggerTypeDefinition } from './trigger-type.ts'

export const endpointCommandDispatched: TriggerTypeDefinition = {
  type: 'endpoint-command-dispatched',
  title: 'EndpointCommandDispatchedTrigger',
  description:
    'Fires once for each command of an endpoint, when the command is delivered to the device for the first time.',
  fields: {
    commandType: Type.Optional(commandType('Fires only for commands of this type. If absent: for all types.')),
  },
  example: { ...example, commandType: 'reboot' },
}
