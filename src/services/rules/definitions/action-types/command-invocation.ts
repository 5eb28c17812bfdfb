import { Type } from '../../../../kernel/schema.ts'
import { commandType } from '../names.ts'
import { type ActionTypeDefinition, endpointIdsExpression } from './action-type.ts'

const ttlMax = 31_536_000_000

export const commandInvocation: ActionTypeDefinition = {
  type: 'command-invocation',
  title: 'CommandInvocationAction',
  description: 'Sends a command to endpoints.',
  attributes: {
    commandPayloadExpression: {
      description: 'Payload of the command, any JSON. If absent: none.',
      literal: 'value',
    },
    endpointIdsExpression,
  },
  fields: {
    commandType: commandType('Type of the command.'),
    commandTtl: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: ttlMax,
        description: 'Milliseconds until the command expires. Default: 60000.',
      }),
    ),
    awaitTimeout: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 600,
        description:
          'Seconds to wait for a result. The action then succeeds only with a 2xx result. Default: 0, which does not wait.',
      }),
    ),
  },
  needs: ['endpoint:update'],
  example: { name: 'fan on', commandType: 'fan', commandPayloadExpression: '{"speed": 2}' },
}
