import { contentPage, offsetQuery, pageQuery } from '../../kernel/paging.ts'
import { AnyJson, DateTime, describedAs, Empty, Name, SerialId, Text, TextList, Type } from '../../kernel/schema.ts'

const endpointId = Name({ description: 'Id of the endpoint.' })
const typeText = 'Type of the command: 1 to 255 letters, digits, `_` and `-`. The device decides what it means.'
export const commandType = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[A-Za-z0-9_-]+$',
  description: typeText,
})
const commandId = SerialId({ description: 'Id of the command, counted from 1 for each endpoint.' })

export const ttlMax = 31_536_000_000

const commandTtl = Type.Integer({
  minimum: 0,
  maximum: ttlMax,
  default: 60_000,
  description:
    'Milliseconds until the command expires; at most a year. 0: pushed once if the device is connected, and not kept. Default: 60000.',
})

export const Command = Type.Object(
  {
    commandId,
    commandType: Type.String({ description: typeText }),
    endpointId: Type.String({ description: 'Id of the endpoint.' }),
    status: Type.Enum(['PENDING', 'EXECUTED', 'EXPIRED'], {
      description:
        'PENDING: no result yet. EXECUTED: the device sent a result. EXPIRED: no result came within `commandTtl`; later results are ignored.',
    }),
    statusCode: Type.Optional(
      Type.Integer({ description: 'HTTP status of the result. Omitted if the command was not executed.' }),
    ),
    reasonPhrase: Type.Optional(Type.String({ description: 'Text of the result. Omitted without a text.' })),
    requestPayload: Type.Optional(AnyJson({ description: 'Payload of the command. Omitted without a payload.' })),
    responsePayload: Type.Optional(AnyJson({ description: 'Payload of the result. Omitted without a payload.' })),
    createdAt: DateTime({ description: 'Time at which the command was invoked, in UTC.' }),
    updatedAt: DateTime({ description: 'Time of the last change of `status`, in UTC.' }),
  },
  {
    title: 'Command',
    description: 'A command to an endpoint, with its result.',
    examples: [
      {
        commandId: 7,
        commandType: 'reboot',
        endpointId: '2f6a1b0e-4f0e-4e6c-9d0a-8a1c5f0e7b11',
        status: 'EXECUTED',
        statusCode: 200,
        requestPayload: { delay: 5 },
        responsePayload: { uptime: 0 },
        createdAt: '2026-03-01T12:00:00.000Z',
        updatedAt: '2026-03-01T12:00:00.120Z',
      },
    ],
  },
)

const ofType = Type.Object({ endpointId, commandType })
const ofCommand = Type.Object({ endpointId, commandType, commandId: Type.Integer({ description: 'Id of a command.' }) })
const missingCommand = {
  404: 'The endpoint or the command does not exist, or the caller lacks the permission on the endpoint.',
}
const payloadFails = {
  413: 'The payload is larger than 1,000,000 bytes of JSON.',
  415: 'The body is neither `application/json` nor `text/plain`.',
}

const Accepted = Empty(
  'The device has not answered within `awaitTimeout`, or the command expired. `Location` is the address of the command.',
)

const awaitTimeoutText =
  'Seconds to wait for the result; at most the setting `WAYPOST_COMMAND_AWAIT_SECONDS` (60). 0 does not wait. Default: 5, or the maximum ' +
  'if it is less.'

export const invokeCommand = {
  name: 'commands.send',
  summary: 'Invoke a command on an endpoint',
  description:
    'The body is the payload: JSON, or text with `Content-Type: text/plain`, which the device gets as a JSON string. An empty body is a ' +
    'command without payload. The device gets the command immediately if it is connected, and otherwise when it connects or asks. The ' +
    'response has the payload of its result, whatever status the device reports; the command resource shows that status.',
  params: ofType,
  query: Type.Object({
    awaitTimeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483, description: awaitTimeoutText })),
    commandTtl,
  }),
  body: AnyJson({ description: 'Payload of the command: any JSON value, or text.', examples: [{ delay: 5 }] }),
  response: {
    200: AnyJson({ description: 'Payload of the result. Empty without a payload.', examples: [{ uptime: 0 }] }),
    202: Accepted,
  },
  fails: {
    400: '`awaitTimeout` or `commandTtl` is out of range, the body is malformed JSON, or it has no `Content-Type`.',
    404: 'The endpoint does not exist, the caller may not update it, or the command was deleted while the caller waited.',
    429: 'The endpoint has 1,000 commands without a result, or too many callers wait. `Retry-After` has the seconds to wait.',
    ...payloadFails,
  },
}

export const getCommand = {
  name: 'commands.get',
  summary: 'Get a command',
  params: ofCommand,
  response: { 200: Command },
  fails: missingCommand,
}

export const deleteCommand = {
  name: 'commands.delete',
  summary: 'Delete a command',
  description: 'A result that the device sends later is ignored. A caller that waits for the command gets 404.',
  params: ofCommand,
  response: { 204: Empty() },
  fails: missingCommand,
}

export const getLastCommand = {
  name: 'commands.last.get',
  summary: 'Get the command of a type with the latest result',
  params: ofType,
  response: { 200: Command },
  fails: {
    403: 'The tenant of the caller is not available.',
    404: 'No command of this type was executed, the endpoint does not exist, or the caller may not read it.',
  },
}

const CommandsOfEndpoint = Type.Object(
  {
    endpointId: Type.String({ description: 'Id of the endpoint.' }),
    commands: Type.Array(Command, { description: 'The commands, newest first.' }),
    truncated: Type.Optional(
      Type.Literal(true, {
        description:
          'True when older commands are missing, because there are more than 1,000 or their payloads are too large. Otherwise omitted.',
      }),
    ),
  },
  { title: 'CommandsOfEndpoint', description: 'The commands of one endpoint.' },
)
const byEndpoint = Type.Array(CommandsOfEndpoint, {
  description: 'One element for each endpoint that the caller may read, in the order of the request.',
})

export const listCommands = {
  name: 'commands.list',
  summary: 'List commands of endpoints',
  query: Type.Object({
    endpointId: TextList({ description: 'Ids of the endpoints, separated by commas; at most 1,000.' }),
    commandTypes: TextList({ description: 'Types of the commands, separated by commas; at most 100.' }),
  }),
  response: { 200: byEndpoint },
  fails: { 400: '`endpointId` or `commandTypes` is missing or has too many items.' },
}

export const listLastCommands = {
  name: 'commands.last.search',
  summary: 'List the last executed commands of endpoints',
  body: Type.Object(
    {
      endpointIds: Type.Array(Name({ description: 'Id of an endpoint.' }), {
        minItems: 1,
        maxItems: 1000,
        description: 'Ids of the endpoints; at most 1,000.',
      }),
      commandTypes: Type.Array(commandType, {
        minItems: 1,
        maxItems: 100,
        description: 'Types of the commands; at most 100.',
      }),
    },
    {
      title: 'LastCommandsQuery',
      description: 'Endpoints and types of which the last executed commands are listed.',
      examples: [{ endpointIds: ['2f6a1b0e-4f0e-4e6c-9d0a-8a1c5f0e7b11'], commandTypes: ['reboot'] }],
    },
  ),
  response: { 200: byEndpoint },
}

const count = (description: string) => Type.Integer({ description })

export const states = ['PENDING', 'SUCCEEDED', 'FAILED', 'EXPIRED'] as const
const applicationTypes = Type.Optional(
  TextList({ description: 'Only commands of these types, separated by commas. If absent: all types.' }),
)
const ofApplication = Type.Object({ applicationName: Name({ description: 'Name of the application.' }) })
const noApplication = 'The application does not exist, or the caller may not read its commands.'

export const listApplicationCommands = {
  name: 'commands.ofApplication.list',
  summary: 'List commands of all endpoints of an application',
  params: ofApplication,
  query: Type.Object({
    ...pageQuery(20),
    sort: Type.Optional(
      Text({
        maxLength: 40,
        description:
          '`createdAt` or `updatedAt`, with `,asc` or `,desc`. Without a direction it is ascending. If absent: `createdAt,desc`.',
      }),
    ),
    commandTypes: applicationTypes,
    state: Type.Optional(
      TextList({
        description: `Only commands in these states: ${states.join(', ')}. FAILED: the status code is 400 or more. If absent: all.`,
      }),
    ),
  }),
  response: {
    200: Type.Object(
      {
        content: Type.Array(Command, { description: 'The commands of this page.' }),
        totalElements: count('Number of all matching commands, on all pages.'),
        totalPages: count('Number of pages.'),
        number: count('Number of this page, counted from 0.'),
        size: count('Maximum number of commands on a page.'),
        numberOfElements: count('Number of commands on this page.'),
        first: Type.Boolean({ description: 'True when this is the first page.' }),
        last: Type.Boolean({ description: 'True when no further page follows.' }),
        empty: Type.Boolean({ description: 'True when this page has no commands.' }),
      },
      { title: 'CommandPage', description: 'One page of commands.' },
    ),
  },
  fails: {
    400: '`sort`, `state`, `page` or `size` is out of range, or the payloads of the page are too large together.',
    404: noApplication,
  },
}

export const countApplicationCommands = {
  name: 'commands.ofApplication.counts.get',
  summary: 'Get the numbers of commands of an application by state',
  params: ofApplication,
  query: Type.Object({ commandTypes: applicationTypes }),
  response: {
    200: Type.Object(
      {
        total: count('Number of all commands.'),
        pending: count('Number of commands without a result that have not expired.'),
        succeeded: count('Number of commands whose result has a status code below 400.'),
        failed: count('Number of commands whose result has a status code of 400 or more.'),
        expired: count('Number of commands that expired without a result.'),
      },
      { title: 'CommandCounts', description: 'Numbers of commands. They add up to the total.' },
    ),
  },
  fails: { 404: noApplication },
}

const NewTask = Type.Object(
  { taskId: Type.String({ description: 'Id of the batch.' }) },
  { title: 'CommandBatch', description: 'A batch that was accepted. Its commands are made in the background.' },
)
const byFilterQuery = Type.Object({
  filterId: Name({ description: 'Id of an active filter. Endpoints that match it later get no command.' }),
  commandTtl,
})
const batchParams = Type.Object({ commandType })
const batchFails = {
  400: '`filterId` is missing or its filter is not active, `commandTtl` is out of range, or the body is malformed.',
  403: 'The caller may not update an endpoint that the filter matches. No command is made.',
  404: 'The filter does not exist, or the caller may not use it.',
  ...payloadFails,
}
const batchText =
  'The body is the payload, as for a single command. The response is sent when the batch and its endpoints are stored; the commands are created in the background. An endpoint that has 1,000 commands without a result gets a command that is expired from the beginning.'

export const batchByFilter = {
  name: 'commands.batches.byFilter.create',
  summary: 'Invoke a command on all endpoints of a filter',
  description: batchText,
  params: batchParams,
  query: byFilterQuery,
  body: invokeCommand.body,
  response: { 202: NewTask },
  fails: batchFails,
}

export const batchByFilterOld = {
  ...batchByFilter,
  name: 'commands.batches.create',
  summary: 'Invoke a command on all endpoints of a filter, by the older path',
  aliasOf: 'commands.batches.byFilter.create',
}

export const batchByEndpoints = {
  name: 'commands.batches.byEndpoints.create',
  summary: 'Invoke a command on many endpoints',
  description: batchText.replace('The body is the payload, as for a single command. ', ''),
  params: batchParams,
  query: Type.Object({ commandTtl }),
  body: Type.Object(
    {
      payload: Type.Optional(AnyJson({ description: 'Payload of the commands. Omitted without a payload.' })),
      payloadContentType: Type.Optional(
        Type.Enum(['application/json', 'text/plain'], {
          description: 'Type of the payload; with text/plain it must be text. If absent: application/json.',
        }),
      ),
      endpointIds: Type.Array(Name({ description: 'Id of an endpoint.' }), {
        minItems: 1,
        maxItems: 10_000,
        description: 'Ids of the endpoints: 1 to 10,000 different ids.',
      }),
    },
    {
      title: 'NewCommandBatch',
      description: 'A command for many endpoints.',
      examples: [{ payload: { delay: 5 }, endpointIds: ['2f6a1b0e-4f0e-4e6c-9d0a-8a1c5f0e7b11'] }],
    },
  ),
  response: { 202: NewTask },
  fails: {
    400: 'A field of the body is out of range, an endpoint is named twice, or `commandTtl` is out of range.',
    404: 'An endpoint does not exist, or the caller may not update it. No command is made.',
    413: payloadFails[413],
  },
}

const Task = Type.Object(
  {
    taskId: Type.String({ description: 'Id of the batch.' }),
    filterId: Type.Optional(
      Type.String({ description: 'Id of the filter. Omitted for a batch with a list of endpoints.' }),
    ),
    commandType: Type.String({ description: 'Type of the commands.' }),
    requestPayload: Type.Optional(AnyJson({ description: 'Payload of the commands. Omitted without a payload.' })),
    createdAt: DateTime({ description: 'Time at which the batch was accepted, in UTC.' }),
    pendingCount: count('Number of endpoints of the application whose command is not made yet or has no result.'),
    executedCount: count('Number of endpoints of the application that sent a result.'),
    expiredCount: count('Number of endpoints of the application whose command expired.'),
  },
  {
    title: 'CommandTask',
    description: 'A batch of commands, counted for one application. Deleted commands do not count.',
  },
)

const appName = Name({ description: 'Name of the application whose endpoints are counted and listed.' })
const taskApplicationText =
  'Only endpoints of this application. Default: of all applications whose commands the caller may read.'

export const listTasks = {
  name: 'commands.batches.list',
  summary: 'List batches of commands',
  query: Type.Object({
    appName,
    commandType: Type.Optional(Text({ description: 'Only batches of this command type. If absent: all.' })),
    filterId: Type.Optional(Text({ description: 'Only batches of this filter. If absent: all.' })),
    sortBy: Type.Enum(['commandType', 'filterId', 'createdAt', 'taskId'], {
      default: 'createdAt',
      description: 'Field to sort by. Default: createdAt.',
    }),
    sortOrder: Type.Enum(['ASC', 'DESC'], { default: 'DESC', description: 'Order of the sort. Default: DESC.' }),
    ...offsetQuery(20),
  }),
  response: { 200: contentPage(Task) },
  fails: { 400: '`appName` is missing, or another parameter is out of range.', 404: noApplication },
}

const entries = (description: string) =>
  Type.Array(
    Type.Object(
      {
        endpointId: Type.String({ description: 'Id of the endpoint.' }),
        commandId: Type.Optional(Type.Integer({ description: 'Id of the command, once it exists.' })),
      },
      { title: 'CommandTaskEntry', description: 'An endpoint of a batch.' },
    ),
    { description },
  )

export const getTask = {
  name: 'commands.batches.get',
  summary: 'Get the endpoints of a batch by the status of their commands',
  params: Type.Object({ id: Name({ description: 'Id of the batch.' }) }),
  query: Type.Object({ appName: Type.Optional(describedAs(appName, taskApplicationText)) }),
  response: {
    200: Type.Object(
      {
        executed: entries('Endpoints that sent a result.'),
        expired: entries('Endpoints whose command expired.'),
        pending: entries('Endpoints whose command is not made yet or has no result.'),
      },
      { title: 'CommandTaskEntries', description: 'The endpoints of a batch, by id.' },
    ),
  },
  fails: {
    400: 'The parameter `appName` is empty or too long.',
    404: 'The batch does not exist or has no endpoint of this application, or the caller may not read its commands.',
  },
}
