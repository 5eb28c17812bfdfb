/**
 * Paths that clients of Elasticsearch and OpenSearch call, besides the paths in routes.ts. They are not in the API reference, because each
 * does what an operation of the reference does.
 */
import type { Ctx } from '../../kernel/contract.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import type { Http, Reply, Request } from '../../kernel/http/routes.ts'
import { readBodyOfGet } from '../../kernel/http/streaming.ts'
import { AnyJson, type OperationSchema, type TSchema, Type } from '../../kernel/schema.ts'
import {
  index,
  indexOf,
  limitsOf,
  pipelines,
  rawJson,
  searchesIn,
  searching,
  searchTextOf,
  sendJson,
  textOf,
  withProductHeader,
} from './routes.ts'
import * as schemas from './schemas.ts'
import { readScope, updateScope } from './service/access.ts'
import type { IngestService } from './service.ts'

/**
 * Describes the server for clients. Clients that check the version accept 7.17. Responses of this version have the same fields as responses
 * of this platform.
 */
const server = {
  name: 'waypost',
  cluster_name: 'waypost',
  cluster_uuid: 'waypost',
  version: {
    number: '7.17.0',
    build_flavor: 'default',
    build_type: 'docker',
    build_hash: 'unknown',
    build_date: '2022-01-28T08:36:04Z',
    build_snapshot: false,
    lucene_version: '8.11.1',
    minimum_wire_compatibility_version: '6.8.0',
    minimum_index_compatibility_version: '6.0.0-beta1',
  },
  tagline: 'You Know, for Search',
}

const anyResponse = { 200: AnyJson() }

export function clientRoutes(plain: Http, service: IngestService) {
  const http = withProductHeader(plain)
  http.get(
    '',
    {
      schema: { name: 'ingest.server.get', summary: 'Get the server', response: anyResponse },
      config: { scope: 'authenticated' },
    },
    async (_, reply) => sendJson(reply, JSON.stringify(server)),
  )
  indexRoutes(http, service)
  simulationRoutes(http, service)
  searchRoutes(http, service, '', Type.Object({}))
  searchRoutes(http, service, index, schemas.ofSearch)
}

/** Answers `HEAD /{index}`, with which clients find out whether an index exists, and `GET /{index}`. */
function indexRoutes(http: Http, { mappings }: IngestService) {
  const schema = { name: 'ingest.indices.get', summary: 'Get an index', params: schemas.ofIndex, response: anyResponse }
  http.get(index, { schema, config: { scope: readScope } }, async ({ ctx, params }, reply) =>
    sendJson(reply, await mappings.get(ctx, indexOf(params))),
  )
}

function simulationRoutes(http: Http, { pipelines: operations }: IngestService) {
  http.post(
    `${pipelines}/:pipelineID/_simulate`,
    { schema: schemas.simulateStored, config: { scope: updateScope, on: 'tenant', ...rawJson } },
    async ({ ctx, params, query, body, headers }, reply) => {
      const text = textOf(body, headers['content-type'], schemas.Simulation, ...limitsOf(query))
      return sendJson(reply, await operations.simulate(ctx, params.pipelineID, text, query.verbose))
    },
  )
  http.post(
    `${pipelines}/_simulate`,
    { schema: schemas.simulateInline, config: { scope: updateScope, on: 'tenant', ...rawJson } },
    async ({ ctx, query, body, headers }, reply) => {
      const text = textOf(body, headers['content-type'], schemas.InlineSimulation, ...limitsOf(query))
      return sendJson(reply, await operations.simulate(ctx, undefined, text, query.verbose))
    },
  )
}

/** Defines searches of one index, or of all applications that the caller may read if the path names no index. */
function searchRoutes(http: Http, { searches }: IngestService, path: '' | typeof index, params: TSchema) {
  const nameOf = ({ tenantId }: Ctx, named: unknown) =>
    path === '' ? `${tenantId}-*` : indexOf(named as Parameters<typeof indexOf>[0])
  const query = schemas.searchQuery
  const shapes = { params, query, response: anyResponse }

  http.get(
    `${path}/_search`,
    { schema: { name: 'ingest.documents.list', summary: 'Search documents', ...shapes }, config: searching },
    async (request, reply) => {
      const { ctx, headers } = request
      const text = searchTextOf(await bodyOfGet(request, reply), headers['content-type'])
      return sendJson(reply, await searches.search(ctx, nameOf(ctx, request.params), text, request.query))
    },
  )

  async function count({ ctx, params: named }: CountRequest, reply: Reply, text: string) {
    const found = await searches.search(ctx, nameOf(ctx, named), text, { from: 0, size: 0, track_total_hits: true })
    const { _shards, hits } = JSON.parse(found)
    return sendJson(reply, JSON.stringify({ count: hits.total.value, _shards }))
  }
  const counting = { summary: 'Count documents', params, response: anyResponse }
  http.get(
    `${path}/_count`,
    { schema: { name: 'ingest.documents.count.get', ...counting }, config: searching },
    async (request, reply) =>
      count(request, reply, searchTextOf(await bodyOfGet(request, reply), request.headers['content-type'])),
  )
  http.post(
    `${path}/_count`,
    { schema: { name: 'ingest.documents.count.search', body: AnyJson(), ...counting }, config: searching },
    async (request, reply) =>
      count(request, reply, searchTextOf(request.body as Buffer, request.headers['content-type'])),
  )
  if (path !== '') return

  const body = AnyJson()
  http.post(
    '/_search',
    { schema: { name: 'ingest.documents.search', summary: 'Search documents', ...shapes, body }, config: searching },
    async ({ ctx, query: given, body: bytes, headers }, reply) => {
      const text = searchTextOf(bytes as Buffer, headers['content-type'])
      return sendJson(reply, await searches.search(ctx, nameOf(ctx, undefined), text, given))
    },
  )
  http.post(
    '/_msearch',
    {
      schema: {
        name: 'ingest.documents.searches.search',
        summary: 'Search several times',
        response: anyResponse,
        body,
      },
      config: searching,
    },
    async ({ ctx, body: bytes, headers }, reply) => {
      const requests = searchesIn(bytes as Buffer, headers['content-type'])
      return sendJson(reply, await searches.searchMany(ctx, nameOf(ctx, undefined), requests))
    },
  )
}

type CountRequest = Pick<Request<OperationSchema>, 'ctx'> & { params: unknown }

const bodyOfGet = ({ raw }: Pick<Request<OperationSchema>, 'raw'>, reply: Reply) =>
  readBodyOfGet(raw.raw, reply.raw, bodyLimitBytes)
