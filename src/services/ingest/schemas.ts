import { AnyJson, Empty, ifMatchFails, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

const pipelineID = Name({
  pattern: '^[A-Za-z0-9_.-]+$',
  description: 'Id of the pipeline: 1 to 255 letters, digits, `_`, `.` and `-`; not `simulate`.',
})
export const ofPipeline = Type.Object({ pipelineID })

const tenantID = Name({ description: 'Id of the tenant of the caller.' })
const applicationName = Name({
  description:
    'Name of an application, optionally followed by a date: `-*`, `-2026`, `-2026.03` or `-2026.03.01`; dashes may replace the dots.',
})
export const ofIndex = Type.Object({ tenantID, applicationName })
const searchedName = Name({
  description:
    'Name of an application, optionally followed by a date; `*` for all applications that the caller may read; or ' +
    '`platform-system-traffic-statistics`.',
})
export const ofSearch = Type.Object({ tenantID, applicationName: searchedName })

const Acknowledgement = Type.Object(
  { acknowledged: Type.Boolean({ description: 'Always true: the change is stored.' }) },
  { title: 'IngestAcknowledgement', description: 'The change is stored.' },
)

const Processor = JsonObject({
  description: 'A processor with its options: `{set: {if, field, value}}` or `{script: {lang, source}}`, for example.',
})
const processors = Type.Array(Processor, { description: 'The processors, in the order in which they run.' })

export const Pipeline = Type.Object(
  { processors },
  {
    title: 'IngestPipeline',
    additionalProperties: true,
    description: 'A pipeline. Further fields, such as `description`, `version` and `on_failure`, are kept.',
    examples: [
      { processors: [{ script: { source: 'ctx.dataSample.fahrenheit = ctx.dataSample.celsius * 1.8 + 32' } }] },
    ],
  },
)
const pipelinesByKey = (title: string, description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, title, description })

const unusable = {
  400: 'The pipeline cannot be used. The message names the processor by its position, and the position in its script.',
}
const noPipeline = { 404: 'There is no such pipeline.' }

export const putPipeline = {
  name: 'ingest.pipelines.update',
  summary: 'Create or replace a pipeline',
  description:
    'Documents that arrive at this node after the response pass through the new pipeline; other nodes use the pipeline within a second.',
  params: ofPipeline,
  body: Pipeline,
  response: { 200: Acknowledgement },
  fails: { ...unusable, ...ifMatchFails },
}
export const getPipeline = {
  name: 'ingest.pipelines.get',
  summary: 'Get a pipeline',
  params: ofPipeline,
  response: {
    200: pipelinesByKey('IngestPipelineByKey', 'The pipeline as it was sent, under the key `{tenantID}-{pipelineID}`.'),
    304: Empty(),
  },
  fails: noPipeline,
}
export const listPipelines = {
  name: 'ingest.pipelines.list',
  summary: 'List the pipelines of the tenant',
  response: {
    200: pipelinesByKey('IngestPipelinesByKey', 'All pipelines, each under the key `{tenantID}-{pipelineID}`.'),
  },
}
export const deletePipeline = {
  name: 'ingest.pipelines.delete',
  summary: 'Delete a pipeline',
  params: ofPipeline,
  response: { 200: Acknowledgement },
  fails: { ...noPipeline, 400: 'A template names the pipeline as its `default_pipeline`.', ...ifMatchFails },
}

const SimulatedDocument = Type.Object(
  {
    _source: JsonObject({ description: 'The document.' }),
    _index: Type.Optional(Text({ description: 'Name of the index. Default: `_index`.' })),
    _type: Type.Optional(Text({ description: 'Type of the document. Default: `_doc`.' })),
    _id: Type.Optional(Text({ description: 'Id of the document. Default: `_id`.', maxLength: 512 })),
  },
  { title: 'DocumentToSimulate', additionalProperties: true, description: 'A document to try a pipeline with.' },
)
const docs = Type.Array(SimulatedDocument, {
  minItems: 1,
  maxItems: 1000,
  description: 'The documents, at most 1,000.',
})
export const Simulation = Type.Object(
  { docs },
  { title: 'IngestSimulation', additionalProperties: true, description: 'Documents for a stored pipeline.' },
)
export const InlineSimulation = Type.Object(
  { pipeline: Pipeline, docs },
  {
    title: 'IngestInlineSimulation',
    additionalProperties: true,
    description: 'A pipeline that is not stored, and documents for it.',
  },
)
/** Limits the documents of a verbose simulation, because the response contains each document once for each processor. */
export const FewDocuments = Type.Object(
  { docs: Type.Array(AnyJson(), { maxItems: 10 }) },
  { additionalProperties: true },
)
const simulationQuery = Type.Object({
  verbose: Type.Optional(
    Type.Boolean({
      description:
        'True when the response has the result of each processor for each document (`processor_results`); the body then has at most 10 documents. Default: false.',
    }),
  ),
})
const SimulationResult = Type.Object(
  {
    docs: Type.Array(AnyJson(), {
      description:
        'For each document, in order: `{doc: {_index, _type, _id, _source}, _ingest: {timestamp}}`; `{error: {root_cause, type, ' +
        'reason}}` if its pipeline failed; null if it was dropped. With `verbose`: `{processor_results: [{processor_type, tag?, status, doc?, ' +
        'error?, ignored_error?}]}`, where `status` is success, skipped, dropped, error or error_ignored. Documents beyond 2 MiB together have ' +
        '`doc_omitted` instead of `doc`.',
    }),
  },
  { title: 'IngestSimulationResult', description: 'The outcome for each document.' },
)
export const simulateStored = {
  name: 'ingest.pipelines.preview',
  summary: 'Try a stored pipeline with documents',
  description: 'Nothing is stored. Integers keep their 64 bits.',
  params: ofPipeline,
  query: simulationQuery,
  body: Simulation,
  response: { 200: SimulationResult },
  fails: noPipeline,
}
export const simulateInline = {
  name: 'ingest.pipelines.inline.preview',
  summary: 'Try a pipeline of the request with documents',
  description: 'Nothing is stored. Integers keep their 64 bits.',
  query: simulationQuery,
  body: InlineSimulation,
  response: { 200: SimulationResult },
  fails: unusable,
}

export const TemplateRequest = Type.Object(
  {
    mappings: Type.Optional(
      JsonObject({ description: 'Fields that documents have, as `properties` with their types.' }),
    ),
    settings: Type.Optional(
      JsonObject({
        description:
          '`index.default_pipeline`: the pipeline that the documents pass; absent: none. `index.retention_days`: days that documents are ' +
          'kept; 0: for ever; absent: `WAYPOST_DOCUMENT_DAYS`.',
      }),
    ),
    order: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: 'Order of the template. The platform only stores and returns it. Default: 0.',
      }),
    ),
  },
  {
    title: 'IngestTemplate',
    additionalProperties: true,
    description:
      'A template of an application. Samples of an application with a template are stored as documents for search.',
    examples: [{ settings: { index: { default_pipeline: 'to-fahrenheit' } }, mappings: { properties: {} } }],
  },
)
const noIndex = { 404: 'The tenant of the caller has no such application, or the caller may not read it.' }

export const putTemplate = {
  name: 'ingest.templates.update',
  summary: 'Create or replace the template of an application',
  description:
    'Samples that arrive at this node after the response are kept as documents; other nodes use the template within a second.',
  params: ofIndex,
  body: TemplateRequest,
  response: { 200: Acknowledgement },
  fails: { ...noIndex, 400: 'A field is wrong, or `default_pipeline` names a pipeline that does not exist.' },
}
export const getTemplate = {
  name: 'ingest.templates.get',
  summary: 'Get the template of an application',
  params: ofIndex,
  response: {
    200: pipelinesByKey(
      'IngestTemplateByKey',
      'The template with `order`, `index_patterns`, `settings` and `mappings`, under the key `{tenantID}-{applicationName}`.',
    ),
  },
  fails: { 404: `${noIndex[404]} Or it has no template.` },
}
export const deleteTemplate = {
  name: 'ingest.templates.delete',
  summary: 'Delete the template of an application',
  description: 'Further samples are not kept as documents. Existing documents stay until their retention ends.',
  params: ofIndex,
  response: { 200: Acknowledgement },
  fails: getTemplate.fails,
}

export const getMapping = {
  name: 'ingest.mappings.get',
  summary: 'Get the fields of documents',
  params: ofSearch,
  response: {
    200: pipelinesByKey(
      'IngestMappings',
      '`{mappings: {properties}}` under the key `{tenantID}-{applicationName}`: the fields of the template, and fields that documents had.',
    ),
  },
  fails: noIndex,
}

export const SearchBody = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  title: 'DocumentSearch',
  description:
    'A search: `query` (`match_all`, `match_none`, `term`, `terms`, `range`, `exists`, `prefix`, `match`, `ids`, `bool`), `from`, `size`, ' +
    '`sort`, `_source`, `track_total_hits`, `aggs` (`terms`, `date_histogram`, `histogram`, `avg`, `min`, `max`, `sum`, `value_count`, ' +
    '`cardinality`). Other fields of the search engine that choose hits, such as `search_after`, are refused; all other fields are ignored.',
  examples: [{ query: { term: { endpointId: 'sensor-1' } }, sort: [{ '@timestamp': 'desc' }], size: 10 }],
})
export const searchQuery = Type.Object({
  from: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, description: 'Number of hits to skip. Default: 0.' }),
  ),
  size: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, description: 'Maximum number of hits. Default: 10.' }),
  ),
  sort: Type.Optional(Text({ maxLength: 4096, description: 'Fields to sort by, such as `@timestamp:desc`.' })),
  _source: Type.Optional(Text({ maxLength: 4096, description: 'Fields of documents to return; `false`: none.' })),
  _source_includes: Type.Optional(
    TextList({ description: 'Only these fields of documents are returned; replaces `_source`.' }),
  ),
  _source_excludes: Type.Optional(
    TextList({ description: 'These fields of documents are left out; replaces `_source`.' }),
  ),
  track_total_hits: Type.Optional(
    Text({ maxLength: 20, description: 'Counts exactly up to this number; `true`: always. Default: 10000.' }),
  ),
  rest_total_hits_as_int: Type.Optional(
    Type.Boolean({ description: 'Returns `hits.total` as a number. Default: false.' }),
  ),
})
const SearchResult = JsonObject({
  title: 'DocumentSearchResult',
  description:
    '`took` (milliseconds), `timed_out`, `hits.total.value`, `hits.hits[]` with `_index`, `_id`, `_source` and `sort`, and `aggregations`.',
})
const searchFails = {
  ...noIndex,
  400: 'The query, an aggregation or another field is unknown or wrong, or the search takes too long.',
}
export const search = {
  name: 'ingest.documents.search',
  summary: 'Search documents',
  description:
    'Finds, counts and aggregates documents of endpoints that the caller may read. `from` and `size` are at most 10,000 together.',
  params: ofSearch,
  query: searchQuery,
  body: SearchBody,
  response: { 200: SearchResult },
  fails: searchFails,
}
export const multiSearch = {
  name: 'ingest.documents.searches.send',
  summary: 'Search documents several times with one request',
  description:
    'The body is lines of JSON, or an array, with a header before each body, or a single body. A header may name another `index`. At most ' +
    '100 searches.',
  params: ofSearch,
  body: AnyJson({ description: 'Headers and bodies, alternately.', examples: [[{}, { query: { match_all: {} } }]] }),
  response: {
    200: Type.Object(
      {
        took: Type.Integer({ description: 'Duration of the searches, in milliseconds.' }),
        responses: Type.Array(AnyJson(), {
          description: 'The answer of each search with `status`, or `{error, status}`.',
        }),
      },
      { title: 'DocumentSearchResults', description: 'The answers in the order of the searches.' },
    ),
  },
  fails: searchFails,
}
