import { contentPage, pageQuery } from '../../kernel/paging.ts'
import { Name, RequestTime, Text, Type } from '../../kernel/schema.ts'

export const ofTenant = Type.Optional(
  Name({
    description: "Id of another tenant; needs the scope on platform-system. Default: the caller's tenant.",
  }),
)

const count = (description: string) => Type.Integer({ description })

const text = (description: string) => Type.Optional(Type.String({ description }))

/** The fields of a record, in the order of the CSV columns. */
export const auditFields = {
  at: Type.String({ description: 'Time of the change, in UTC (ISO 8601).' }),
  tenantId: Type.String({ description: 'Id of the tenant that the record belongs to.' }),
  operation: Type.String({
    description:
      'Name of the operation in the API reference, such as `users.create`; or `logins.succeeded`, `logins.failed`, `logins.locked`.',
  }),
  resource: text('Path of the object that was created, changed or deleted. Secrets in it are shown as `***`.'),
  status: Type.Optional(
    Type.Integer({
      description:
        'HTTP status of the response: a success, 403, or an error of the platform. Omitted if there was no response.',
    }),
  ),
  actorType: text('Kind of the caller: `user`, `client`, `api-key` or `system`.'),
  actorId: text('Id of the caller. Omitted if the caller is unknown, as for a login with an unknown name.'),
  actorName: text('Name of the caller at that time: the user name, or the name of the API key.'),
  actorTenantId: text('Id of the tenant of the caller, where it is not the tenant of the record.'),
  address: text('IP address that the request came from. Omitted if a rule sent the request.'),
  correlationId: text(
    'Correlation id of the request, as in the header `X-Correlation-Id` of its response and in the log.',
  ),
  fields: Type.Optional(
    Type.Array(Type.String(), { description: 'Names of the fields that the body had. Their values are not recorded.' }),
  ),
  count: Type.Integer({ description: 'Number of equal events within a second; always 1 for operations.' }),
  id: Type.String({ description: 'Id of the record.' }),
}

const AuditRecord = Type.Object(auditFields, {
  title: 'AuditRecord',
  description: 'A change that somebody made, or a login.',
})

export const listRecords = {
  name: 'auditRecords.list',
  summary: 'List who changed what, when, from where and by which request',
  description:
    'The newest first. Every operation that changes something is recorded, and every login, failed login and lockout; messages of ' +
    'devices and samples are not. With the format `csv` or `ndjson` the response has all matching records instead of a page.',
  query: Type.Object({
    from: Type.Optional(
      RequestTime({ description: 'Only records from this date and time on (inclusive). Default: the oldest.' }),
    ),
    to: Type.Optional(
      RequestTime({ description: 'Only records before this date and time (exclusive). Default: the newest.' }),
    ),
    actor: Type.Optional(Text({ description: 'Only records of this caller: its id or user name. Default: all.' })),
    operation: Type.Optional(
      Text({ description: 'Only records of this operation, such as `users.create`. Default: all.' }),
    ),
    resource: Type.Optional(
      Text({ maxLength: 1024, description: 'Only records whose resource starts with this text. Default: all.' }),
    ),
    status: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 599, description: 'Only records with this HTTP status. Default: all.' }),
    ),
    address: Type.Optional(Text({ description: 'Only records of requests from this IP address. Default: all.' })),
    correlationId: Type.Optional(
      Text({ description: 'Only records of the request with this correlation id. Default: all.' }),
    ),
    format: Type.Enum(['json', 'csv', 'ndjson'], {
      default: 'json',
      description: 'json: a page. csv, ndjson: all matching records, for export. Default: json.',
    }),
    ...pageQuery(100, 1000),
    tenantId: ofTenant,
  }),
  response: { 200: contentPage(AuditRecord) },
  alsoAs: ['text/csv', 'application/x-ndjson'],
}

const Usage = Type.Object(
  {
    tenantId: Type.String({ description: 'Id of the tenant.' }),
    bytesPerDay: count(
      'Bytes of samples, documents, traces, alerts and of the traffic log that the tenant may store a day (UTC): of its package, else of the settings of the platform. 0: no limit.',
    ),
    days: Type.Array(
      Type.Object(
        {
          day: Type.String({ description: 'Date in UTC, such as `2026-01-31`.' }),
          sampleBytes: count('Payload bytes of samples from devices, callers and rules.'),
          trafficLogBytes: count('Bytes of records in the traffic log.'),
          documentBytes: count('Bytes of documents that samples became.'),
          traceBytes: count('Bytes of traces of rules and actions.'),
          alertBytes: count('Bytes of new alerts and of entries in the history of alerts.'),
          refused: count('Number of messages and requests with samples that were refused with 429.'),
          unrecorded: count('Number of messages that the traffic log left out.'),
          shortened: count(
            'Number of traces that were stored without details, and of entries that the history of alerts left out.',
          ),
        },
        { title: 'DailyUsage', description: 'The bytes that a tenant stored on a day.' },
      ),
      { description: 'The newest day first; days without usage are left out.' },
    ),
  },
  { title: 'TenantUsage', description: 'The bytes that a tenant stored on the last days, and its quota.' },
)

export const getUsage = {
  name: 'usage.get',
  summary: 'Get what a tenant stored on the last days',
  description:
    'Several nodes add up their counts once a second. A tenant that has used its quota of the day gets 429 for samples until ' +
    'midnight in UTC. Until then, its messages are not recorded, and traces contain no details.',
  query: Type.Object({
    days: Type.Integer({ minimum: 1, maximum: 90, default: 30, description: 'Number of days. Default: 30.' }),
    tenantId: ofTenant,
  }),
  response: { 200: Usage },
}
