import { InvalidRequest, UnsupportedMediaType } from '../../kernel/errors.ts'
import { notModified } from '../../kernel/etag.ts'
import { parseJson } from '../../kernel/http/body.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { checkShape } from '../../kernel/http/validation.ts'
import type { TSchema } from '../../kernel/schema.ts'
import { itemTexts } from './json-items.ts'
import * as schemas from './schemas.ts'
import { deleteScope, readEndpointsScope, readScope, updateScope } from './service/access.ts'
import type { IngestService } from './service.ts'

export const pipelines = '/_ingest/pipeline'
export const index = '/:tenantID-:applicationName'

/** Returns the index name from the path. The framework splits the name at its first dash, but services look it up as a whole. */
export const indexOf = ({ tenantID, applicationName }: { tenantID: string; applicationName: string }) =>
  `${tenantID}-${applicationName}`

const jsonType = /^application\/(?:[\w.+-]+\+)?(?:json|x-ndjson)\b/i

/** Checks a body and returns its text. In the text, integers still have all their digits. */
export function textOf(body: unknown, contentType: string | undefined, ...shapes: TSchema[]): string {
  const bytes = body as Buffer
  if (bytes.length > 0 && !jsonType.test(contentType ?? ''))
    throw UnsupportedMediaType({ given: (contentType ?? 'none').slice(0, 100), accepted: 'application/json' })
  const value = parseJson(bytes, { plainData: 'inside', roundIntegers: true })
  if (value === undefined) throw InvalidRequest({ problem: 'body: expected JSON' })
  for (const shape of shapes) checkShape(shape, value, 'body')
  return bytes.toString('utf8')
}

export const limitsOf = ({ verbose }: { verbose?: boolean | undefined }) => (verbose ? [schemas.FewDocuments] : [])

const acknowledged = { acknowledged: true }
export const rawJson = { rawBody: true, anyJson: true } as const

/** Sends JSON text without a response schema, because a schema would round integers. */
export const sendJson = (reply: Reply, text: string) =>
  sendText(
    reply.serializer((value: string) => value),
    text,
  )

/**
 * Adds the header by which clients of Elasticsearch recognize their server. These clients reject responses without this header, although
 * they understand the responses of this platform.
 */
export function withProductHeader(http: Http): Http {
  const adding =
    (define: Http['get']): Http['get'] =>
    (path, options, handler) =>
      define(path, options, (request, reply) => {
        reply.header('x-elastic-product', 'Elasticsearch')
        return handler(request, reply)
      })
  const { get, post, put, patch, delete: remove } = http
  return {
    ...http,
    get: adding(get),
    post: adding(post),
    put: adding(put),
    patch: adding(patch),
    delete: adding(remove),
  }
}

export function routes(plain: Http, service: IngestService) {
  const http = withProductHeader(plain)
  pipelineRoutes(http, service)
  templateRoutes(http, service)
  searchRoutes(http, service)
}

function pipelineRoutes(http: Http, { pipelines: operations }: IngestService) {
  http.get(
    pipelines,
    { schema: schemas.listPipelines, config: { scope: readScope, on: 'tenant' } },
    async ({ ctx }, reply) => sendJson(reply, await operations.list(ctx)),
  )
  http.put(
    `${pipelines}/:pipelineID`,
    { schema: schemas.putPipeline, config: { scope: updateScope, on: 'tenant', ...rawJson } },
    async ({ ctx, params, body, headers }) => {
      const definition = textOf(body, headers['content-type'], schemas.Pipeline)
      await operations.put(ctx, params.pipelineID, definition, headers['if-match'])
      return acknowledged
    },
  )
  http.get(
    `${pipelines}/:pipelineID`,
    { schema: schemas.getPipeline, config: { scope: readScope, on: 'tenant' } },
    async (request, reply) => {
      const { body, etag } = await operations.get(request.ctx, request.params.pipelineID)
      reply.header('etag', etag)
      return notModified(request.headers, etag) ? reply.code(304).send() : sendJson(reply, body)
    },
  )
  http.delete(
    `${pipelines}/:pipelineID`,
    { schema: schemas.deletePipeline, config: { scope: deleteScope, on: 'tenant' } },
    async ({ ctx, params, headers }) => {
      await operations.delete(ctx, params.pipelineID, headers['if-match'])
      return acknowledged
    },
  )
  http.post(
    `${pipelines}/simulate/:pipelineID`,
    { schema: schemas.simulateStored, config: { scope: updateScope, on: 'tenant', ...rawJson } },
    async ({ ctx, params, query, body, headers }, reply) => {
      const text = textOf(body, headers['content-type'], schemas.Simulation, ...limitsOf(query))
      return sendJson(reply, await operations.simulate(ctx, params.pipelineID, text, query.verbose))
    },
  )
  http.post(
    `${pipelines}/simulate/`,
    { schema: schemas.simulateInline, config: { scope: updateScope, on: 'tenant', ...rawJson } },
    async ({ ctx, query, body, headers }, reply) => {
      const text = textOf(body, headers['content-type'], schemas.InlineSimulation, ...limitsOf(query))
      return sendJson(reply, await operations.simulate(ctx, undefined, text, query.verbose))
    },
  )
}

function templateRoutes(http: Http, { templates, mappings }: IngestService) {
  http.put(
    `${index}/_template`,
    { schema: schemas.putTemplate, config: { scope: updateScope, ...rawJson } },
    async ({ ctx, params, body, headers }) => {
      await templates.put(ctx, indexOf(params), textOf(body, headers['content-type'], schemas.TemplateRequest))
      return acknowledged
    },
  )
  http.get(
    `${index}/_template`,
    { schema: schemas.getTemplate, config: { scope: readScope } },
    async ({ ctx, params }, reply) => sendJson(reply, await templates.get(ctx, indexOf(params))),
  )
  http.delete(
    `${index}/_template`,
    { schema: schemas.deleteTemplate, config: { scope: deleteScope } },
    async ({ ctx, params }) => {
      await templates.delete(ctx, indexOf(params))
      return acknowledged
    },
  )
  http.get(
    `${index}/_mapping`,
    { schema: schemas.getMapping, config: { scope: readScope } },
    async ({ ctx, params }, reply) => sendJson(reply, await mappings.get(ctx, indexOf(params))),
  )
}

/** The permission to search, and the limits of searches. */
export const searching = { scope: [readScope, readEndpointsScope], deadlineSeconds: 60, ...rawJson }

/** Returns the text of a search. A search without a body finds all documents. */
export const searchTextOf = (body: Buffer, contentType: string | undefined) =>
  body.length === 0 ? '{}' : textOf(body, contentType, schemas.SearchBody)

function searchRoutes(http: Http, { searches }: IngestService) {
  http.post(
    `${index}/_search`,
    { schema: schemas.search, config: { ...searching, bodyOptional: true } },
    async ({ ctx, params, query, body, headers }, reply) => {
      const text = searchTextOf(body as unknown as Buffer, headers['content-type'])
      return sendJson(reply, await searches.search(ctx, indexOf(params), text, query))
    },
  )
  http.post(
    `${index}/_msearch`,
    { schema: schemas.multiSearch, config: { ...searching, readOnly: true } },
    async (request, reply) => {
      const { ctx, params, body, headers } = request
      const requests = searchesIn(body as Buffer, headers['content-type'])
      return sendJson(reply, await searches.searchMany(ctx, indexOf(params), requests))
    },
  )
}

const searchesMax = 100

/** Parses the searches of one request: a header and a body in turn, as lines of JSON or as an array, or a single body. */
export function searchesIn(body: Buffer, contentType: string | undefined): { index?: string; text: string }[] {
  if (body.length === 0) throw InvalidRequest({ problem: 'body: expected headers and bodies of searches in turn' })
  if (!jsonType.test(contentType ?? ''))
    throw UnsupportedMediaType({ given: (contentType ?? 'none').slice(0, 100), accepted: 'application/x-ndjson' })
  const texts = partsOf(body)
  const parts = texts.map((text, index) => {
    const value = parseJson(Buffer.from(text), { plainData: true, roundIntegers: true, part: `body.${index}` })
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw InvalidRequest({ problem: `body.${index}: expected an object` })
    return { value: value as Record<string, unknown>, text }
  })
  if (parts.length === 1) return [{ text: parts[0]!.text }]
  if (parts.length % 2 !== 0)
    throw InvalidRequest({ problem: 'body: expected a header and a body for each search; the last search has no body' })
  if (parts.length > searchesMax * 2)
    throw InvalidRequest({ problem: `body: expected at most ${searchesMax} searches` })
  return Array.from({ length: parts.length / 2 }, (_, index) => {
    const named = indexName(parts[index * 2]!.value.index, index * 2)
    return { ...(named !== undefined && { index: named }), text: parts[index * 2 + 1]!.text }
  })
}

function indexName(parameter: unknown, index: number): string | undefined {
  const [name] = [parameter].flat()
  if (name === undefined || name === null) return undefined
  if (typeof name !== 'string' || [parameter].flat().length > 1)
    throw InvalidRequest({ problem: `body.${index}.index: expected the name of one index` })
  return name
}

/** Splits the text into JSON texts. An array or object may span lines; otherwise each line is a JSON text. */
function partsOf(body: Buffer): string[] {
  const text = body.toString('utf8')
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const isWhole = lines.length === 1 || !isJson(lines[0]!)
  if (!isWhole) return lines
  const value = parseJson(body, { plainData: true, roundIntegers: true })
  return Array.isArray(value) ? itemTexts(text) : [text]
}

const isJson = (line: string) => {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
