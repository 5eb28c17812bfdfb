import { contentPage, pageQuery } from '../../kernel/paging.ts'
import { DateTime, DateTimeText, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

export const extensions = ['dcx', 'cmx', 'cmx_ota', 'cex', 'epmx', 'rsx', 'bcx', 'adx'] as const

/** Payloads are long: more of them do not belong into one answer. */
const sizeMax = 1000

const page = { ...pageQuery(100), size: Type.Integer({ minimum: 1, maximum: sizeMax, default: 100 }) }
const ofTenant = Type.Optional(
  Name({ description: 'Another tenant than the own one: only with the scope on the platform' }),
)
const from = Type.Optional(DateTimeText({ description: 'Records of this moment or later' }))
const to = Type.Optional(DateTimeText({ description: 'Records of this moment or earlier' }))

const TrafficRecord = Type.Object(
  {
    correlationId: Type.String({ description: 'The same for a message and its answer' }),
    direction: Type.Enum(['INBOUND', 'OUTBOUND'], { description: 'INBOUND: from the endpoint' }),
    tenantId: Type.String(),
    appVersionName: Type.String(),
    endpointId: Type.String(),
    extension: Type.String(),
    resourcePath: Type.String({ description: 'What follows the token, without the request id' }),
    requestId: Type.Optional(Type.Integer()),
    payload: Type.String({ description: 'Base64 where `additionalMetadata.encoding` says so' }),
    additionalMetadata: Type.Optional(
      JsonObject({
        description: 'Such as the transport, the statusCode of an answer, payloadTruncated with payloadBytes',
      }),
    ),
    createdAt: DateTime(),
  },
  { title: 'TrafficRecord' },
)

export const listTraffic = {
  name: 'traffic.list',
  summary: 'List what endpoints sent and received',
  query: Type.Object({
    sort: Type.Enum(['createdAt'], { default: 'createdAt' }),
    sortOrder: Type.Enum(['asc', 'desc'], { default: 'desc' }),
    endpointIds: Type.Optional(TextList({ description: 'One or several' })),
    appVersionName: Type.Optional(Text()),
    extension: Type.Optional(Type.Enum([...extensions])),
    payload: Type.Optional(Text({ maxLength: 1024, description: 'A part of it' })),
    resourcePath: Type.Optional(Text({ maxLength: 1024, description: 'A part of it' })),
    requestId: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    fromCreatedAt: from,
    toCreatedAt: to,
    ...page,
    tenantId: ofTenant,
  }),
  response: { 200: contentPage(TrafficRecord) },
}

const Refusal = Type.Object(
  {
    createdAt: DateTime({ description: 'The first of them' }),
    count: Type.Integer({ description: 'How many of the same kind within about a second' }),
    tenantId: Type.Optional(Type.String({ description: 'Absent where nobody could say whose it was' })),
    reason: Type.String(),
    detail: Type.Optional(Type.String()),
    transport: Type.String(),
    address: Type.Optional(Type.String()),
    clientId: Type.Optional(Type.String()),
    username: Type.Optional(Type.String()),
    appVersionName: Type.Optional(Type.String()),
    endpointId: Type.Optional(Type.String()),
  },
  { title: 'Refusal' },
)

export const listRefusals = {
  name: 'refusals.list',
  summary: 'List the connections and messages that were refused, and why',
  query: Type.Object({
    reason: Type.Optional(Text({ maxLength: 64 })),
    fromCreatedAt: from,
    toCreatedAt: to,
    ...page,
    tenantId: ofTenant,
  }),
  response: { 200: contentPage(Refusal) },
}
