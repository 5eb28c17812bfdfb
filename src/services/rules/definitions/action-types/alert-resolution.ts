import { type ActionTypeDefinition, allowOne, requireOne } from './action-type.ts'
import { alertFields, alertTypeExpression, messageExpression } from './alert-activation.ts'

export const alertResolution: ActionTypeDefinition = {
  type: 'alert-resolution',
  title: 'AlertResolutionAction',
  description: 'Resolves the open alert of this type. If no alert is open, the action does nothing.',
  attributes: { alertTypeExpression, messageExpression },
  fields: alertFields,
  needs: ['alert:update'],
  complete(fields) {
    requireOne(fields, 'alertType', 'alertTypeExpression')
    allowOne(fields, 'message', 'messageExpression')
    return { entityType: 'ENDPOINT', ...fields }
  },
  example: { name: 'cool again', alertType: 'HIGH_TEMPERATURE' },
}
