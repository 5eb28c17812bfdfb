import { invalidField } from '../../kernel/errors.ts'
import { notModified } from '../../kernel/etag.ts'
import type { Http, Reply, Request } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { jsonArray } from '../../kernel/json-text.ts'
import type { OperationSchema } from '../../kernel/schema.ts'
import { statusRoutes } from './routes/statuses.ts'
import { systemRoutes } from './routes/system.ts'
import * as schemas from './schemas.ts'
import type { ConfigurationService } from './service.ts'

interface Configuration {
  configId: string
  name: string
  config: string
  createdDate: Date
  updatedDate: Date
}

const etagOf = ({ configId }: Configuration) => `"${configId}"`
const view = ({ configId, name, config, createdDate, updatedDate }: Configuration) => ({
  ...{ configId, name, config },
  ...{ createdDate, updatedDate },
})

const send = (reply: Reply, configuration: Configuration) =>
  reply.header('etag', etagOf(configuration)).send(view(configuration))

function sendIfChanged(headers: { 'if-none-match'?: string | undefined }, reply: Reply, configuration: Configuration) {
  const etag = etagOf(configuration)
  if (!notModified(headers, etag)) return send(reply, configuration)
  return reply.header('etag', etag).code(304).send()
}

async function* texts(configurations: AsyncIterable<Configuration>) {
  for await (const configuration of configurations) yield JSON.stringify(view(configuration))
}

/** Returns the body. Any JSON is a configuration, even null, but a body is required. */
function bodyOf<S extends OperationSchema>({ raw, body }: Request<S>): unknown {
  if (raw.emptyBody) throw invalidField('body', 'expected a JSON value')
  return body
}

/** Maximum size of the body of a batch: a megabyte of configuration and tens of thousands of endpoint ids. */
const batchBytesMax = 4 * 1024 * 1024

const update = { scope: 'endpoint:update', anyJson: true }
const ofApplication = (action: string) => ({ scope: `application:endpoint-config:${action}`, anyJson: true })

export function routes(http: Http, service: ConfigurationService) {
  // The routes of batches are declared first, because their fixed path segments take precedence over parameters (document 5, 1.4).
  batchRoutes(http, service)
  endpointRoutes(http, service)
  defaultRoutes(http, service)
  statusRoutes(http, service.statuses)
  systemRoutes(http, service.system)
}

function endpointRoutes(http: Http, { endpoints }: ConfigurationService) {
  const configurationPath = '/endpoints/:endpointId/app-versions/:appVersionName'

  http.put(configurationPath, { schema: schemas.putEndpointConfig, config: update }, async (request, reply) => {
    const { ctx, params, query, headers } = request
    return send(reply, await endpoints.put(ctx, { ...query, ...params }, bodyOf(request), headers['if-match']))
  })

  http.get(
    configurationPath,
    { schema: schemas.getEndpointConfig, config: { scope: 'endpoint:read' } },
    async (request, reply) => {
      const { ctx, params, query, headers } = request
      return sendIfChanged(headers, reply, await endpoints.get(ctx, { ...query, ...params }))
    },
  )

  http.delete(
    configurationPath,
    { schema: schemas.deleteEndpointConfig, config: { scope: 'endpoint:delete' } },
    async ({ ctx, params, query, headers }, reply) => {
      await endpoints.delete(ctx, { ...query, ...params }, headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.get(
    `${configurationPath}/configurations`,
    { schema: schemas.listEndpointConfigs, config: { scope: 'endpoint:read' } },
    async ({ ctx, params }, reply) => sendText(reply, jsonArray(texts(await endpoints.list(ctx, params)))),
  )
}

function batchRoutes(http: Http, { batches }: ConfigurationService) {
  http.put(
    '/endpoints/batch',
    {
      schema: schemas.putBatch,
      config: { scope: 'endpoint:update', anyJson: 'inside', bodyBytesMax: batchBytesMax },
    },
    async ({ ctx, query, body }, reply) => {
      const { endpointsCount, ...written } = await batches.putAll(ctx, query.name, body.configPayload, body.endpoints)
      return reply.header('etag', etagOf(written)).send({ ...view(written), endpointsCount })
    },
  )

  http.put('/endpoints/filters/:filterId', { schema: schemas.putByFilter, config: update }, async (request, reply) => {
    const { ctx, params, query } = request
    const { endpointsCount, ...written } = await batches.putByFilter(ctx, query.name, bodyOf(request), params.filterId)
    return reply.header('etag', etagOf(written)).send({ ...view(written), endpointsCount })
  })
}

function defaultRoutes(http: Http, { defaults }: ConfigurationService) {
  const defaultPath = '/app-versions/:appVersionName'

  http.put(defaultPath, { schema: schemas.putDefault, config: ofApplication('update') }, async (request, reply) => {
    const { ctx, params, query, headers } = request
    return send(reply, await defaults.put(ctx, { ...query, ...params }, bodyOf(request), headers['if-match']))
  })

  http.get(defaultPath, { schema: schemas.getDefault, config: ofApplication('read') }, async (request, reply) => {
    const { ctx, params, query, headers } = request
    return sendIfChanged(headers, reply, await defaults.get(ctx, { ...query, ...params }))
  })

  http.delete(
    defaultPath,
    { schema: schemas.deleteDefault, config: ofApplication('delete') },
    async ({ ctx, params, query, headers }, reply) => {
      await defaults.delete(ctx, { ...query, ...params }, headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.get(
    `${defaultPath}/configurations`,
    { schema: schemas.listDefaults, config: ofApplication('read') },
    async ({ ctx, params }, reply) =>
      sendText(reply, jsonArray(texts(await defaults.list(ctx, params.appVersionName)))),
  )

  http.get(
    `${defaultPath}/schemas`,
    { schema: schemas.getSchema, config: ofApplication('read') },
    async (request, reply) =>
      sendText(reply, JSON.stringify(await defaults.schema(request.ctx, request.params.appVersionName))),
  )

  http.put(
    `${defaultPath}/schemas/validate`,
    { schema: schemas.validateSchema, config: ofApplication('read') },
    async (request, reply) => {
      await defaults.validateSchema(request.ctx, request.params.appVersionName, bodyOf(request))
      return reply.code(204).send()
    },
  )
}
