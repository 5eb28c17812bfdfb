import { invalidField } from '../../../../kernel/errors.ts'
import { Name, Type } from '../../../../kernel/schema.ts'
import { cronProblem } from '../../cron-expression.ts'
import type { TriggerTypeDefinition } from './trigger-type.ts'

export const cron: TriggerTypeDefinition = {
  type: 'cron',
  title: 'CronTrigger',
  description:
    'Fires at times of a schedule, for each endpoint of its application, version or list. If it names none of these, it fires once, without an endpoint.',
  fields: {
    cronExpression: Name({
      description:
        'Five fields (minute, hour, day of month, month, day of week), or six with seconds in front: numbers, names, `*`, `?`, lists, ranges and steps.',
    }),
    timezone: Type.Optional(Name({ description: 'IANA time zone such as Europe/Berlin. Default: UTC.' })),
  },
  isStandalone: true,
  complete(fields) {
    const problem = cronProblem(String(fields.cronExpression))
    if (problem) throw invalidField('cronExpression', problem)
    if (fields.timezone !== undefined && !isTimeZone(String(fields.timezone)))
      throw invalidField('timezone', 'expected an IANA time zone such as Europe/Berlin')
    return { timezone: 'UTC', ...fields }
  },
  example: { name: 'every morning', cronExpression: '0 7 * * MON-FRI', timezone: 'Europe/Berlin' },
}

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}
