import { contentPage, pageQuery } from '../../../kernel/paging.ts'
import {
  BodyTime,
  DateTime,
  Empty,
  JsonObject,
  Name,
  RequestTime,
  Text,
  TextList,
  Type,
} from '../../../kernel/schema.ts'
import { acknowledgements, alertStates, entityTypes, lifecycleEventTypes, severities } from './model.ts'

const Alert = Type.Object(
  {
    id: Type.String({ description: 'Id of the alert.' }),
    alertType: Type.String({ description: 'Type of the alert: letters, digits, `_`, `.` and `-`.' }),
    severityLevel: Type.Enum([...severities], { description: 'Severity of the alert.' }),
    entityType: Type.Enum([...entityTypes], {
      description: 'ENDPOINT: an alert of an endpoint. TENANT: an alert of the tenant itself.',
    }),
    entityId: Type.String({ description: 'Id of the endpoint or of the tenant.' }),
    tenantId: Type.String({ description: 'Id of the tenant.' }),
    state: Type.Enum([...alertStates], { description: 'OPEN: the alert is active. RESOLVED: it has ended.' }),
    acknowledgement: Type.Enum([...acknowledgements], {
      description: 'ACKNOWLEDGED: a person has acknowledged the alert. UNACKNOWLEDGED: nobody has.',
    }),
    message: Type.Optional(
      Type.String({ description: 'Text of the last activation that had a text. Omitted if no activation had a text.' }),
    ),
    activateReason: Type.Optional(Type.String({ description: 'The same text as `message`.' })),
    resolveReason: Type.Optional(
      Type.String({ description: 'Reason why the alert was resolved. Omitted if no reason was given.' }),
    ),
    startedAt: DateTime({ description: 'Time of the first activation of the alert, in UTC.' }),
    lastActiveAt: DateTime({ description: 'Time of the last activation of the alert, in UTC.' }),
    resolvedAt: Type.Optional(
      DateTime({ description: 'Time at which the alert was resolved, in UTC. Omitted if it is open.' }),
    ),
    alertSettingId: Type.Optional(
      Type.String({
        description: 'Id of the alert setting that activated the alert. Omitted if a rule activated the alert.',
      }),
    ),
    metadata: JsonObject({
      description: 'Metadata of the last activation that had metadata. Empty if no activation had metadata.',
    }),
    entityMetadata: Type.Optional(
      JsonObject({ description: "The endpoint's metadata at the first activation. Absent for alerts of the tenant." }),
    ),
  },
  {
    title: 'Alert',
    description:
      'A condition of an endpoint or tenant that people should know about. At most one alert of each type is open for an entity at a time.',
    examples: [
      {
        id: '0197a1b2-6a0e-7c3d-8e4f-5a6b7c8d9e0f',
        alertType: 'HIGH_TEMPERATURE',
        severityLevel: 'HIGH',
        entityType: 'ENDPOINT',
        entityId: '2f6a1b0e-4f0e-4e6c-9d0a-8a1c5f0e7b11',
        tenantId: 'default',
        state: 'OPEN',
        acknowledgement: 'UNACKNOWLEDGED',
        message: '31 °C',
        activateReason: '31 °C',
        startedAt: '2026-03-01T12:00:00.000Z',
        lastActiveAt: '2026-03-01T12:05:00.000Z',
        metadata: { temperature: 31 },
        entityMetadata: { room: 'north' },
      },
    ],
  },
)

const alertId = Name({ description: 'Id of the alert.' })
const entityTypeText = '`ENDPOINT` or `TENANT`, in upper or lower case.'
const anyCase = (text: string) => Type.Optional(Text({ maxLength: 20, description: text }))
const entity = {
  entityId: Type.Optional(Name({ description: 'Id of the entity that the alert must belong to. Default: any.' })),
  entityType: anyCase(`Type of the entity that the alert must belong to: ${entityTypeText} Default: any.`),
}

const order = {
  sortOrder: Type.Enum(['asc', 'desc'], { default: 'desc', description: 'Order of the sort. Default: desc.' }),
}
const sorting = {
  sort: Type.Enum(['startedAt', 'lastActiveAt', 'severityLevel'], {
    default: 'startedAt',
    description: 'Field to sort by. Alerts with the same value are in the order of their ids. Default: startedAt.',
  }),
  ...order,
}

const path = (noun: string) =>
  Type.Optional(
    Text({
      maxLength: 1000,
      description: `Dotted path of a key in the metadata of the ${noun}: \`room.floor\`. Default: none.`,
    }),
  )
const value = (noun: string) =>
  Type.Optional(
    Text({
      maxLength: 4000,
      description: `The value at the path in the metadata of the ${noun}, as text. Default: any.`,
    }),
  )
const startedFrom = { description: 'Only alerts that started at this time or later. Default: no limit.' }
const startedTo = { description: 'Only alerts that started at this time or earlier. Default: no limit.' }

/** The criteria of lists. The function `list` creates the schema of each criterion that is a list. */
const criteria = <L extends ReturnType<typeof TextList>>(list: (text: string) => L) => ({
  entityType: anyCase(`Only alerts of entities of this type: ${entityTypeText} Default: both.`),
  entityIds: Type.Optional(list('Only alerts of these endpoints or tenants. Default: all.')),
  alertSettingId: Type.Optional(Name({ description: 'Only alerts of this alert setting. Default: all.' })),
  alertType: Type.Optional(list('Only alerts of these types. Default: all.')),
  state: Type.Optional(list('Only alerts in these states: OPEN, RESOLVED. Default: both.')),
  acknowledgement: Type.Optional(list('Only ACKNOWLEDGED or UNACKNOWLEDGED alerts. Default: both.')),
  severityLevel: Type.Optional(list(`Only alerts with these levels: ${severities.join(', ')}. Default: all.`)),
  entityMetadataPath: path('entity'),
  entityMetadataValue: value('entity'),
  metadataPath: path('alert'),
  metadataValue: value('alert'),
})

const TextOrTexts = (description: string) =>
  Type.Union([Type.String({ maxLength: 255 }), Type.Array(Type.String({ maxLength: 255 }), { maxItems: 1000 })], {
    description,
  })

const invalid = 'A parameter or field is wrong; the message names it.'
const missing = {
  404: 'The alert does not exist, does not belong to the named entity, or the caller may not read it.',
}
const ofAlert = Type.Object({ alertId })
const Done = { 204: Empty('Done.') }

export const listAlerts = {
  name: 'alerts.list',
  summary: 'List alerts',
  query: Type.Object({
    ...criteria((description) => TextList({ description })),
    fromStartedAt: Type.Optional(RequestTime(startedFrom)),
    toStartedAt: Type.Optional(RequestTime(startedTo)),
    ...sorting,
    ...pageQuery(100),
  }),
  response: { 200: contentPage(Alert) },
  fails: { 400: invalid },
}

export const searchAlerts = {
  name: 'alerts.search',
  summary: 'Search alerts with criteria in the body',
  description: 'The body has the same criteria as the query of the list. A criterion with several values is an array.',
  body: Type.Object(
    {
      ...criteria(TextOrTexts),
      fromStartedAt: Type.Optional(BodyTime(startedFrom)),
      toStartedAt: Type.Optional(BodyTime(startedTo)),
      ...sorting,
      ...pageQuery(100),
    },
    {
      title: 'AlertSearch',
      description: 'Criteria of the search, order of the results, and page.',
      examples: [{ state: ['OPEN'], severityLevel: ['HIGH', 'CRITICAL'] }],
    },
  ),
  response: { 200: contentPage(Alert) },
  fails: { 400: invalid },
}

export const getAlert = {
  name: 'alerts.get',
  summary: 'Get an alert',
  params: ofAlert,
  query: Type.Object(entity),
  response: { 200: Alert },
  fails: missing,
}

export const deleteAlert = {
  name: 'alerts.delete',
  summary: 'Delete an alert with its lifecycle events',
  params: ofAlert,
  query: Type.Object(entity),
  response: Done,
  fails: missing,
}

export const deleteAlerts = {
  name: 'alerts.deleteMany',
  summary: 'Delete several alerts',
  description:
    'Deletes the alerts that exist and that the caller may delete, and names the alerts that it has not deleted.',
  body: Type.Object(
    {
      alertIds: Type.Array(Name({ description: 'Id of an alert.' }), {
        minItems: 1,
        maxItems: 1000,
        description: 'The alerts to delete, at most 1000.',
      }),
    },
    {
      title: 'AlertIds',
      description: 'Alerts by their ids.',
      examples: [{ alertIds: ['0197a1b2-6a0e-7c3d-8e4f-5a6b7c8d9e0f'] }],
    },
  ),
  response: {
    200: Type.Object(
      {
        deletedCount: Type.Integer({ description: 'Number of deleted alerts.' }),
        failedCount: Type.Integer({ description: 'Number of alerts that were not deleted.' }),
        deleted: Type.Array(Type.String({ description: 'Id of an alert.' }), { description: 'The deleted alerts.' }),
        failed: Type.Array(
          Type.Object(
            {
              alertId: Type.String({ description: 'Id of the alert.' }),
              reason: Type.String({ description: 'Reason why the alert was not deleted.' }),
            },
            { title: 'AlertNotDeleted', description: 'An alert that was not deleted.' },
          ),
          { description: 'The alerts that were not deleted.' },
        ),
      },
      { title: 'DeletedAlerts', description: 'The alerts that were deleted, and the alerts that were not.' },
    ),
  },
  fails: { 400: invalid },
}

const Texts = (description: string) =>
  Type.Array(Type.String({ description }), { description: 'The values, in alphabetical order.' })

export const listAlertTypes = {
  name: 'alerts.types.list',
  summary: 'List the types of alerts',
  query: Type.Object({
    entityType: anyCase(`Only types of alerts of entities of this type: ${entityTypeText} Default: both.`),
  }),
  response: { 200: Texts('Type of alerts that the caller may read.') },
  fails: { 400: invalid },
}

export const listMetadataKeys = {
  name: 'alerts.metadataKeys.list',
  summary: 'List the keys in the metadata of alerts',
  query: Type.Object({
    metadataKeysType: Type.Enum(['ALERT', 'ENTITY'], {
      default: 'ALERT',
      description: 'ALERT: keys of `metadata`. ENTITY: keys of `entityMetadata`. Default: ALERT.',
    }),
  }),
  response: { 200: Texts('Key in the metadata of alerts that the caller may read.') },
  fails: { 400: invalid },
}

export const acknowledgeAlert = {
  name: 'alerts.acknowledgement.update',
  summary: 'Acknowledge an alert, or take the acknowledgement back',
  description: 'A resolved alert does not change.',
  params: ofAlert,
  query: Type.Object(entity),
  body: Type.Object(
    {
      acknowledgement: Type.Enum([...acknowledgements], { description: 'The new acknowledgement.' }),
      comment: Type.Optional(
        Text({ maxLength: 4000, description: 'Comment, which the lifecycle event keeps. Default: none.' }),
      ),
    },
    {
      title: 'AlertAcknowledgement',
      description: 'Fields of a request that acknowledges an alert.',
      examples: [{ acknowledgement: 'ACKNOWLEDGED', comment: 'on my way' }],
    },
  ),
  response: Done,
  fails: { 400: invalid, ...missing },
}

export const resolveAlert = {
  name: 'alerts.resolution.update',
  summary: 'Resolve an alert',
  description: 'A resolved alert does not change. The next activation opens a new alert.',
  params: ofAlert,
  body: Type.Object(
    {
      ...entity,
      reason: Type.Optional(Text({ maxLength: 4000, description: 'Reason why the alert is resolved. Default: none.' })),
    },
    {
      title: 'AlertResolution',
      description: 'Fields of a request that resolves an alert.',
      examples: [{ reason: 'window closed' }],
    },
  ),
  response: Done,
  fails: { 400: invalid, ...missing },
}

const LifecycleEvent = Type.Object(
  {
    id: Type.String({ description: 'Id of the event.' }),
    eventType: Type.Enum([...lifecycleEventTypes], {
      description: 'ACTIVATED: the alert was opened. UPDATED: severity, message or acknowledgement changed.',
    }),
    createdAt: DateTime({ description: 'Time of the change, in UTC.' }),
    userId: Type.Optional(
      Type.String({ description: 'Id of the caller that made the change. Omitted if a rule made the change.' }),
    ),
    payload: JsonObject({ description: 'Severity, acknowledgement, texts and comment after the change.' }),
  },
  { title: 'AlertLifecycleEvent', description: 'A change of an alert.' },
)

export const listLifecycleEvents = {
  name: 'alerts.lifecycleEvents.list',
  summary: 'List the lifecycle events of an alert',
  params: ofAlert,
  query: Type.Object({
    ...entity,
    eventType: Type.Optional(
      Type.Enum([...lifecycleEventTypes], { description: 'Only events of this type. Default: all.' }),
    ),
    sort: Type.Enum(['createdAt'], { default: 'createdAt', description: 'Field to sort by. Default: createdAt.' }),
    ...order,
    ...pageQuery(100),
  }),
  response: { 200: contentPage(LifecycleEvent) },
  fails: { 400: invalid, ...missing },
}
