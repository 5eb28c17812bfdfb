import { invalidField } from '../../../kernel/errors.ts'
import { notModified } from '../../../kernel/etag.ts'
import { parseJson } from '../../../kernel/http/body.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import { contentPageStream } from '../../../kernel/json-text.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { etagOfSystem, type Operation, type SystemInput, type SystemOperations } from '../service/system.ts'
import { type SystemLevel, systemSchemas } from '../system-schemas.ts'

type Item = Awaited<ReturnType<SystemOperations['get']>>

const view = ({ configId, name, displayName, config, createdDate, updatedDate }: Item) => ({
  configId,
  name,
  ...(displayName !== null && { displayName }),
  config,
  createdAt: createdDate,
  updatedAt: updatedDate,
})

async function* texts(items: AsyncIterable<Item>) {
  for await (const item of items) yield JSON.stringify(view(item))
}

/** Maximum size of a body. It contains a text of up to 256 KiB, in which every quote is escaped. */
const bodyBytesMax = 1024 * 1024

function checkConfig(input: SystemInput): SystemInput {
  if (input.config === '') throw invalidField('config', 'expected JSON as text')
  parseJson(Buffer.from(input.config), { plainData: true, part: 'config' })
  return input
}

const levels = [
  { level: 'tenants', path: 'tenants', parameter: 'tenantId', kind: 'tenant:configuration' },
  { level: 'applications', path: 'applications', parameter: 'appName', kind: 'application' },
  { level: 'versions', path: 'app-versions', parameter: 'appVersionName', kind: 'application' },
  { level: 'endpoints', path: 'endpoints', parameter: 'endpointId', kind: 'endpoint' },
] as const

export function systemRoutes(http: Http, system: SystemOperations) {
  for (const { level, path, parameter, kind } of levels)
    levelRoutes(http, system, { level, all: `/system/${path}/:${parameter}/configs`, parameter, kind })
}

interface LevelRoutes {
  level: SystemLevel
  /** Path of the list. */
  all: string
  parameter: string
  /** Prefix of the scopes. */
  kind: string
}

type Params = Record<string, string>

function levelRoutes(http: Http, system: SystemOperations, { level, all, parameter, kind }: LevelRoutes) {
  const schemas = systemSchemas(level)
  const config = (operation: Operation) => ({ scope: `${kind}:${operation}`, bodyBytesMax })
  const ownersOf = (ctx: Parameters<SystemOperations['owners']['tenants']>[0], params: unknown, operation: Operation) =>
    system.owners[level](ctx, (params as Params)[parameter]!, operation)
  const ownerOf = async (...given: Parameters<typeof ownersOf>) => (await ownersOf(...given))[0]!
  const idOf = (params: unknown) => (params as Params).configId!

  http.post(all, { schema: schemas.create, config: config('update') }, async (request, reply) => {
    const owner = await ownerOf(request.ctx, request.params, 'update')
    const created = await system.create(owner, checkConfig(request.body))
    const id = encodeURIComponent((request.params as Params)[parameter]!)
    const address = http.link(request, `${all.replace(`:${parameter}`, () => id)}/${created.configId}`)
    return reply.code(201).header('location', address).header('etag', etagOfSystem(created)).send()
  })

  http.get(all, { schema: schemas.list, config: config('read') }, async ({ ctx, params, query }, reply) => {
    const owner = await ownerOf(ctx, params, 'read')
    const { total, items } = await system.list(owner, query.name, windowOf(query))
    return sendText(reply, contentPageStream(total, texts(items)))
  })

  // The path `/current` is declared before the path with an id, because fixed path segments take precedence.
  http.get(`${all}/current`, { schema: schemas.current, config: config('read') }, async (request, reply) => {
    const { ctx, params, query, headers } = request
    const owners = await ownersOf(ctx, params, 'read')
    const searched = query.treeTraversalStrategy === 'SKIP' ? owners.slice(0, 1) : owners
    const found = await system.current(searched, query.name)
    const etag = etagOfSystem(found)
    reply.header('etag', etag)
    if (notModified(headers, etag)) return reply.code(304).send()
    return reply.send({ ...view(found), level: found.level, entityId: found.entityId })
  })

  http.get(`${all}/:configId`, { schema: schemas.get, config: config('read') }, async (request, reply) => {
    const { ctx, params, headers } = request
    const found = await system.get(await ownerOf(ctx, params, 'read'), idOf(params))
    const etag = etagOfSystem(found)
    reply.header('etag', etag)
    return notModified(headers, etag) ? reply.code(304).send() : reply.send(view(found))
  })

  http.put(`${all}/:configId`, { schema: schemas.update, config: config('update') }, async (request, reply) => {
    const { ctx, params, body, headers } = request
    const owner = await ownerOf(ctx, params, 'update')
    const etag = await system.update(owner, idOf(params), checkConfig(body), headers['if-match'])
    return reply.code(204).header('etag', etag).send()
  })

  http.delete(`${all}/:configId`, { schema: schemas.delete, config: config('update') }, async (request, reply) => {
    const { ctx, params, headers } = request
    await system.delete(await ownerOf(ctx, params, 'update'), idOf(params), headers['if-match'])
    return reply.code(204).send()
  })
}
