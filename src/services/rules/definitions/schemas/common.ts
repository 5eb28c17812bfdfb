import { pageQuery } from '../../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, Name, Text, Type } from '../../../../kernel/schema.ts'

export const name = (noun: string) => Name({ description: `Name of the ${noun}.` })
export const description = Type.Optional(Text({ maxLength: 4000, description: 'Free text. Default: none.' }))
export const uiMetadata = Type.Optional(
  Text({ maxLength: 65_536, description: 'Text for a user interface; the platform does not read it. Default: none.' }),
)
export const script = (text: string) => Type.String({ minLength: 1, maxLength: 65_536, description: text })
export const state = Type.Enum(['ENABLED', 'DISABLED'], {
  description: 'State of the rule: triggers start the rule only if it is ENABLED.',
})

const optionalText = (text: string) => Type.Optional(Type.String({ description: text }))
export const answered = {
  description: optionalText('Free text.'),
  uiMetadata: optionalText('Text for a user interface.'),
  createdAt: DateTime({ description: 'Time at which the object was created, in UTC.' }),
  updatedAt: DateTime({ description: 'Time of the last change of the object, in UTC.' }),
}

const milliseconds = (text: string) => Type.Integer({ description: `${text}, in milliseconds; 0 without runs.` })
export const Statistics = Type.Object(
  {
    minDuration: milliseconds('Duration of the shortest run'),
    maxDuration: milliseconds('Duration of the longest run'),
    avgDuration: milliseconds('Average duration of the runs'),
    lastDuration: milliseconds('Duration of the last run'),
    count: Type.Integer({ description: 'Number of runs.' }),
  },
  { title: 'RunStatistics', description: 'Statistics of runs, with a delay of at most 5 seconds.' },
)

/** The query of lists. */
export const listQuery = {
  ...pageQuery(100),
  name: Type.Optional(
    Text({ description: 'Only objects whose name contains this text; case is ignored. Default: all.' }),
  ),
  description: Type.Optional(
    Text({
      maxLength: 4000,
      description: 'Only objects whose description contains this text; case is ignored. Default: all.',
    }),
  ),
  sort: Type.Enum(['createdAt', 'updatedAt'], {
    default: 'createdAt',
    description: 'Field to sort by. Default: createdAt.',
  }),
  sortOrder: Type.Enum(['asc', 'desc'], { default: 'desc', description: 'Order of the sort. Default: desc.' }),
}
/** The query of lists whose objects can be parts of alert settings. */
export const listQueryWithParts = {
  ...listQuery,
  include: Type.Optional(
    Type.Enum(['ATTACHED_TO_ALERT_SETTING'], {
      description:
        'ATTACHED_TO_ALERT_SETTING lists only objects that belong to an alert setting. Default: only objects that belong to no alert setting.',
    }),
  ),
}

export const none = { 204: Empty('Done.') }
export const created = { 201: Empty('Created. `Location` has its address.') }
export const invalid = 'A field is missing or wrong; the message names it.'
export const missing = (noun: string) => `The ${noun} does not exist, or the caller may not read it.`
export const ofAlertSetting = 'The object belongs to an alert setting and changes only with the alert setting.'
export const changeFails = (noun: string) => ({
  400: invalid,
  404: missing(noun),
  409: ofAlertSetting,
  ...ifMatchFails,
})
