import { Type } from '../../../../kernel/schema.ts'
import { alertType, severityLevel } from '../names.ts'
import { example, listOfNames, type TriggerTypeDefinition } from './trigger-type.ts'

export const alertEventTypes = ['ACTIVATED', 'RESOLVED', 'ACKNOWLEDGED', 'UPDATED'] as const

export const alertLifecycleEvent: TriggerTypeDefinition = {
  type: 'alert-lifecycle-event',
  title: 'AlertLifecycleEventTrigger',
  description:
    'Fires when an alert of one of its endpoints, or of the tenant itself, opens, changes, is acknowledged or resolved. A run that an alert of the tenant starts has no endpoint.',
  fields: {
    alertTypes: listOfNames(
      alertType('Type of an alert.'),
      'Fires only for alerts of these types. If absent: for all.',
    ),
    eventTypes: listOfNames(
      Type.Enum([...alertEventTypes], { description: 'An event.' }),
      'Fires only for these events. If absent: for all.',
    ),
    severityLevels: listOfNames(
      severityLevel('A severity.'),
      'Fires only for alerts of these severities. If absent: for all.',
    ),
  },
  example: { ...example, eventTypes: ['ACTIVATED'], severityLevels: ['CRITICAL'] },
}
