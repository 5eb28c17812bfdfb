import { contentPage, pageQuery } from '../../kernel/paging.ts'
import { DateTime, JsonObject, Name, RequestTime, Text, TextList, Type } from '../../kernel/schema.ts'

export const extensions = ['dcx', 'cmx', 'cmx_ota', 'cex', 'epmx', 'rsx', 'bcx', 'adx'] as const

/** Maximum number of records on a page. It is limited, because payloads are long. */
const sizeMax = 1000

const page = pageQuery(100, sizeMax)
const ofTenant = Type.Optional(
  Name({
    description: "Id of another tenant; needs the scope on platform-system. Default: the caller's tenant.",
  }),
)
const from = Type.Optional(
  RequestTime({ description: 'Only records from this date and time on (inclusive). Default: the oldest.' }),
)
const to = Type.Optional(
  RequestTime({ description: 'Only records up to this date and time (inclusive). Default: the newest.' }),
)

const TrafficRecord = Type.Object(
  {
    correlationId: Type.String({ description: 'Correlation id, which is the same for a message and its response.' }),
    direction: Type.Enum(['INBOUND', 'OUTBOUND'], {
      description: 'INBOUND: from the device to the platform. OUTBOUND: from the platform to the device.',
    }),
    tenantId: Type.String({ description: 'Id of the tenant of the endpoint.' }),
    appVersionName: Type.String({ description: 'Name of the application version in the topic or path.' }),
    endpointId: Type.String({ description: 'Id of the endpoint.' }),
    extension: Type.String({ description: 'Extension of the device protocol, such as `dcx` for data samples.' }),
    resourcePath: Type.String({
      description: 'Part of the topic or path after the token, without the request id, such as `/json`.',
    }),
    requestId: Type.Optional(
      Type.Integer({
        description:
          'Request id that the device put at the end of the topic. Omitted for a topic without a request id.',
      }),
    ),
    payload: Type.String({
      description:
        'Payload as text. It is base64 if `additionalMetadata.encoding` says so, and cut if `additionalMetadata.payloadTruncated` is true.',
    }),
    additionalMetadata: Type.Optional(
      JsonObject({
        description:
          'More about the message, such as `transport`, `statusCode` of a response, `encoding` of the payload, and ' +
          '`payloadBytes` (its full size in bytes) where it was cut, or left out by the level (`payloadOmitted`).',
      }),
    ),
    createdAt: DateTime({ description: 'Time at which the platform received or sent the message, in UTC.' }),
  },
  { title: 'TrafficRecord', description: 'A message that a device sent or received.' },
)

export const listTraffic = {
  name: 'traffic.list',
  summary: 'List messages that endpoints sent and received',
  description:
    'The list has only messages of endpoints that the caller may read. A search by payload, path, endpoint or request id that takes more ' +
    'than a few seconds ends with 400: then request a shorter period.',
  query: Type.Object({
    sort: Type.Enum(['createdAt'], { default: 'createdAt', description: 'Field to sort by. Default: createdAt.' }),
    sortOrder: Type.Enum(['asc', 'desc'], {
      default: 'desc',
      description: 'asc: oldest first. desc: newest first. Default: desc.',
    }),
    endpointIds: Type.Optional(TextList({ description: 'Only messages of these endpoints (ids). Default: all.' })),
    appVersionName: Type.Optional(Text({ description: 'Only messages of this application version. Default: all.' })),
    extension: Type.Optional(
      Type.Enum([...extensions], {
        description: 'Only messages of this extension of the device protocol. Default: all.',
      }),
    ),
    payload: Type.Optional(
      Text({ maxLength: 1024, description: 'Only messages whose payload contains this text; case matters.' }),
    ),
    resourcePath: Type.Optional(
      Text({ maxLength: 1024, description: 'Only messages whose resource path contains this text; case matters.' }),
    ),
    requestId: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Only messages with this request id.',
      }),
    ),
    fromCreatedAt: from,
    toCreatedAt: to,
    ...page,
    tenantId: ofTenant,
  }),
  response: { 200: contentPage(TrafficRecord) },
  fails: {
    400: 'A query parameter is malformed or out of range, or the search takes too long: then request a shorter period.',
  },
}

const Refusal = Type.Object(
  {
    createdAt: DateTime({ description: 'Time at which the first of these requests was refused, in UTC.' }),
    count: Type.Integer({
      description: 'Number of refusals with the same reason and origin within about one second.',
    }),
    tenantId: Type.Optional(Type.String({ description: 'Id of the tenant. Omitted if the tenant is not known.' })),
    reason: Type.String({ description: 'Code of the reason, such as `token_unknown` or `too_many_messages`.' }),
    detail: Type.Optional(Type.String({ description: 'Details of the reason, as a text for people.' })),
    transport: Type.String({ description: 'Transport of the connection: `mqtt`, `mqtts`, `websocket` or `http`.' }),
    address: Type.Optional(Type.String({ description: 'IP address of the client.' })),
    clientId: Type.Optional(Type.String({ description: 'MQTT client id.' })),
    username: Type.Optional(Type.String({ description: 'MQTT username.' })),
    appVersionName: Type.Optional(
      Type.String({ description: 'Name of the application version in the topic or path.' }),
    ),
    endpointId: Type.Optional(Type.String({ description: 'Id of the endpoint, where it is known.' })),
  },
  { title: 'Refusal', description: 'Connections or messages of devices that the platform refused.' },
)

export const listRefusals = {
  name: 'refusals.list',
  summary: 'List refused connections and messages of devices',
  description:
    'The newest first. Refusals that belong to no tenant are shown to callers with the scope on platform-system.',
  query: Type.Object({
    reason: Type.Optional(Text({ maxLength: 64, description: 'Only refusals with this reason code. Default: all.' })),
    endpointIds: Type.Optional(
      TextList({ description: 'Only refusals of these endpoints (ids), where the endpoint is known. Default: all.' }),
    ),
    fromCreatedAt: from,
    toCreatedAt: to,
    ...page,
    tenantId: ofTenant,
  }),
  response: { 200: contentPage(Refusal) },
}
