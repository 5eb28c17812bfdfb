import { Text, Type } from '../../../../kernel/schema.ts'
import { alertType, isAlertType, messageLength, severityLevel, severityLevels } from '../names.ts'
import { type ActionTypeDefinition, type Attribute, allowOne, requireOne } from './action-type.ts'

/** The attribute for the type of an alert. Alert resolution has this attribute too, and also `alertFields` and `messageExpression`. */
export const alertTypeExpression: Attribute = {
  description: 'The type of the alert. Give either this field or `alertType`.',
  literal: 'text',
  problem: (value) =>
    isAlertType(String(value)) ? undefined : 'expected 1 to 100 letters, digits, _, . and -, or a script',
}
export const alertFields = {
  alertType: Type.Optional(alertType('Type of the alert. Give either this field or `alertTypeExpression`.')),
  message: Type.Optional(
    Text({
      maxLength: messageLength,
      description: 'The reason, for people. Not together with `messageExpression`.',
    }),
  ),
  entityType: Type.Optional(
    Type.Enum(['ENDPOINT', 'TENANT'], {
      description:
        'Kind of entity that the alert belongs to: ENDPOINT (the endpoint of the event) or TENANT. Default: ENDPOINT.',
    }),
  ),
}
export const messageExpression: Attribute = {
  description: 'The reason, for people. Not together with `message`.',
  literal: 'text',
}

export const alertActivation: ActionTypeDefinition = {
  type: 'alert-activation',
  title: 'AlertActivationAction',
  description: 'Opens an alert. An entity has at most one open alert of each type.',
  attributes: {
    alertTypeExpression,
    messageExpression,
    severityLevelExpression: {
      description: 'CRITICAL, HIGH, MEDIUM, LOW or INFO. Not together with `severityLevel`.',
      literal: 'text',
      problem: (value) =>
        severityLevels.includes(value as never)
          ? undefined
          : `expected one of ${severityLevels.join(', ')}, or a script`,
    },
    metadataExpression: {
      description:
        'Metadata of the alert, an object. If absent: a new alert has no metadata, and an open alert keeps its metadata.',
      literal: 'object',
    },
  },
  fields: {
    ...alertFields,
    severityLevel: Type.Optional(
      severityLevel('Severity of the alert. Default: MEDIUM, unless `severityLevelExpression` is given.'),
    ),
  },
  needs: ['alert:update'],
  complete(fields) {
    requireOne(fields, 'alertType', 'alertTypeExpression')
    allowOne(fields, 'message', 'messageExpression')
    allowOne(fields, 'severityLevel', 'severityLevelExpression')
    const severity = fields.severityLevelExpression === undefined && { severityLevel: 'MEDIUM' }
    return { entityType: 'ENDPOINT', ...severity, ...fields }
  },
  example: { name: 'too hot', alertType: 'HIGH_TEMPERATURE', severityLevel: 'HIGH', message: 'The room is too hot' },
}
