import { invalidField } from '../../kernel/errors.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import { releaseWhileWaiting } from '../../kernel/http/waiting-requests.ts'
import { windowOf, windowOfPage } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import { payloadOf } from './payload.ts'
import * as schemas from './schemas.ts'
import { applicationScope, readScope, updateScope } from './service/access.ts'
import type { InvocationCaller } from './service/invocation.ts'
import type { CommandState } from './service/reading.ts'
import type { CommandsService } from './service.ts'

const ofType = '/endpoints/:endpointId/commands/:commandType'
const commandsPath = '/endpoints/commands'
const endpointsMax = 1000
const typesMax = 100
const awaitSecondsDefault = 5

export function routes(http: Http, commands: CommandsService, awaitSecondsMax: number) {
  http.post(
    ofType,
    { schema: schemas.invokeCommand, config: { scope: updateScope, rawBody: true, anyJson: true, bodyOptional: true } },
    // The function returns before the command has a result, so that no function is suspended while the caller waits.
    ({ ctx, params, query, headers, body, raw, callerNow }, reply) => {
      const { awaitTimeout = Math.min(awaitSecondsDefault, awaitSecondsMax) } = query
      if (awaitTimeout > awaitSecondsMax)
        throw invalidField('awaitTimeout', `expected at most ${awaitSecondsMax} seconds`)
      const payload = payloadOf(body as Buffer, headers['content-type'])
      releaseWhileWaiting({ raw })
      const invocation = { ...params, payload, awaitMs: awaitTimeout * 1000, ttlMs: query.commandTtl }
      commands.invoke(ctx, invocation, callerOf(http, { raw, callerNow }, reply, params))
    },
  )

  http.get(`${ofType}/:commandId`, { schema: schemas.getCommand, config: { scope: readScope } }, ({ ctx, params }) =>
    commands.get(ctx, params),
  )

  http.delete(
    `${ofType}/:commandId`,
    { schema: schemas.deleteCommand, config: { scope: updateScope } },
    async ({ ctx, params }, reply) => {
      await commands.delete(ctx, params)
      return reply.code(204).send()
    },
  )

  http.get(`${ofType}/last`, { schema: schemas.getLastCommand, config: { scope: readScope } }, ({ ctx, params }) =>
    commands.getLast(ctx, params),
  )

  http.get(commandsPath, { schema: schemas.listCommands, config: { scope: readScope } }, ({ ctx, query }) =>
    commands.listOfEndpoints(ctx, {
      endpointIds: distinct('endpointId', query.endpointId, endpointsMax),
      types: distinct('commandTypes', query.commandTypes, typesMax),
    }),
  )

  http.post(
    `${commandsPath}/last`,
    { schema: schemas.listLastCommands, config: { scope: readScope, bodyBytesMax: bodyLimitBytes } },
    ({ ctx, body }) =>
      commands.listLast(ctx, {
        endpointIds: [...new Set(body.endpointIds)],
        types: [...new Set(body.commandTypes)],
      }),
  )

  http.get(
    `${commandsPath}/:applicationName`,
    { schema: schemas.listApplicationCommands, config: { scope: applicationScope } },
    async ({ ctx, params, query }) => {
      const { page, size } = query
      const { totalElements, content } = await commands.listOfApplication(ctx, {
        ...params,
        ...sortOf(query.sort),
        ...windowOfPage(query),
        limit: size,
        types: typesOf(query.commandTypes),
        states: statesOf(query.state),
      })
      const totalPages = Math.ceil(totalElements / size)
      return {
        content,
        totalElements,
        totalPages,
        number: page,
        size,
        numberOfElements: content.length,
        first: page === 0,
        last: page >= totalPages - 1,
        empty: content.length === 0,
      }
    },
  )

  http.get(
    `${commandsPath}/:applicationName/counts`,
    { schema: schemas.countApplicationCommands, config: { scope: applicationScope } },
    ({ ctx, params, query }) => commands.countOfApplication(ctx, { ...params, types: typesOf(query.commandTypes) }),
  )

  batchRoutes(http, commands)
}

/** Returns the caller of a request: it sends the result of the command, or the error of its invocation, as the response. */
function callerOf(
  http: Http,
  { raw, callerNow }: Parameters<Http['link']>[0] & Pick<InvocationCaller, 'callerNow'>,
  reply: Reply,
  { endpointId, commandType }: { endpointId: string; commandType: string },
): InvocationCaller {
  return {
    callerNow,
    invoked({ commandId, status, result }) {
      const path = `/endpoints/${encodeURIComponent(endpointId)}/commands/${commandType}/${commandId}`
      reply.header('location', http.link({ raw }, path))
      if (status !== 'EXECUTED') reply.code(202).send()
      else if (result === null) reply.code(200).send()
      else sendJson(reply, result)
    },
    failed: (error) => reply.send(error),
  }
}

function batchRoutes(http: Http, commands: CommandsService) {
  const access = { scope: updateScope, rawBody: true, anyJson: true, bodyOptional: true } as const
  const accepted = (request: Parameters<Http['link']>[0], reply: Reply, taskId: string) =>
    reply
      .code(202)
      .header('location', http.link(request, `${commandsPath}/batch/tasks/${taskId}`))
      .send({ taskId })

  for (const [path, schema] of [
    [`${commandsPath}/:commandType/batch/by-filter`, schemas.batchByFilter],
    [`${commandsPath}/:commandType/batch`, schemas.batchByFilterOld],
  ] as const)
    http.post(path, { schema, config: access }, async (request, reply) => {
      const { ctx, params, query, headers } = request
      const payload = payloadOf(request.body as Buffer, headers['content-type'])
      const batch = { ...params, payload, ttlMs: query.commandTtl }
      return accepted(request, reply, await commands.startByFilter(ctx, query.filterId, batch))
    })

  http.post(
    `${commandsPath}/:commandType/batch/by-endpoints`,
    { schema: schemas.batchByEndpoints, config: { scope: updateScope, anyJson: 'inside' } },
    async (request, reply) => {
      const { ctx, params, query, body } = request
      const { payload, payloadContentType, endpointIds } = body
      if (new Set(endpointIds).size < endpointIds.length)
        throw invalidField('endpointIds', 'expected different endpoints, but an endpoint occurs twice')
      if (payloadContentType === 'text/plain' && payload !== undefined && typeof payload !== 'string')
        throw invalidField('payload', 'expected text, as payloadContentType says')
      const text = payload === undefined ? null : JSON.stringify(payload)
      const batch = { ...params, payload: text, ttlMs: query.commandTtl }
      return accepted(request, reply, await commands.startByEndpoints(ctx, endpointIds, batch))
    },
  )

  http.get(
    `${commandsPath}/batch/tasks`,
    { schema: schemas.listTasks, config: { scope: applicationScope } },
    ({ ctx, query }) =>
      commands.listTasks(ctx, {
        applicationName: query.appName,
        commandType: query.commandType,
        filterId: query.filterId,
        sortBy: query.sortBy,
        descending: query.sortOrder === 'DESC',
        ...windowOf(query),
      }),
  )

  http.get(
    `${commandsPath}/batch/tasks/:id`,
    { schema: schemas.getTask, config: { scope: applicationScope } },
    ({ ctx, params, query }) => commands.getTask(ctx, { taskId: params.id, appName: query.appName }),
  )
}

/** Sends JSON text unchanged. */
const sendJson = (reply: Reply, text: string) =>
  reply
    .code(200)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer((value: string) => value)
    .send(text)

function distinct(name: string, values: string | string[], max: number): string[] {
  const items = [...new Set(listOf(values))]
  if (items.length === 0) throw invalidField(name, 'expected at least one')
  if (items.length > max) throw invalidField(name, `expected at most ${max}`)
  return items
}

function typesOf(parameter: string | string[] | undefined): string[] | undefined {
  const types = listOf(parameter)
  return types && types.length > 0 ? types : undefined
}

function statesOf(parameter: string | string[] | undefined): CommandState[] | undefined {
  const states = typesOf(parameter)
  for (const state of states ?? [])
    if (!schemas.states.includes(state as CommandState))
      throw invalidField('state', `expected ${schemas.states.join(', ')}`)
  return states && [...new Set(states as CommandState[])]
}

/** Parses `createdAt,desc`. */
function sortOf(text = 'createdAt,desc'): { sort: 'createdAt' | 'updatedAt'; descending: boolean } {
  const [, sort, direction = 'asc'] = /^(createdAt|updatedAt)(?:,(asc|desc|ASC|DESC))?$/.exec(text) ?? []
  if (sort !== 'createdAt' && sort !== 'updatedAt')
    throw invalidField('sort', 'expected createdAt or updatedAt, with ,asc or ,desc')
  return { sort, descending: direction.toLowerCase() === 'desc' }
}
