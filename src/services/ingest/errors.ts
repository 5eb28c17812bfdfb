import { defineError } from '../../kernel/errors.ts'

// The error is the same whether the index is missing or belongs to another tenant, so that it does not reveal which indices exist.
export const NoIndex = defineError<{ index: string }>(
  'no_such_index',
  404,
  'There is no index {index}; expected the tenant id, a dash and the name of an application that the caller may read',
)
export const NoTemplate = defineError<{ index: string }>('no_such_template', 404, 'The index {index} has no template')
export const NoPipeline = defineError<{ pipelineId: string }>(
  'no_such_pipeline',
  404,
  'There is no pipeline {pipelineId}',
)
export const PipelineInUse = defineError<{ pipelineId: string; applications: string }>(
  'pipeline_in_use',
  400,
  'The pipeline {pipelineId} is the default_pipeline of the template of {applications}; change or delete that template first',
)
export const PipelineUnusable = defineError<{ problem: string }>('pipeline_unusable', 400, '{problem}')
export const TooManyPipelines = defineError<{ limit: number }>(
  'too_many_pipelines',
  400,
  'The tenant already has {limit} pipelines, the maximum; delete a pipeline first',
)
export const QueryInvalid = defineError<{ problem: string }>('query_invalid', 400, '{problem}')
export const SearchTooLong = defineError<{ seconds: number }>(
  'search_too_long',
  400,
  'The search takes more than {seconds} s; ask for a shorter range of @timestamp, fewer indices or fewer aggregations',
)
export const SearchTooLarge = defineError<{ bytes: number }>(
  'search_too_large',
  400,
  'The documents that were found have more than {bytes} bytes together; ask for fewer documents, with a smaller value of size',
)
export const PipelinesNotRun = defineError<{ reason: string }>(
  'pipelines_not_run',
  503,
  'This node cannot run pipelines at the moment: {reason}; try again',
  { 'retry-after': '5' },
)
export const EngineUnavailable = defineError<{ reason: string }>(
  'search_engine_unavailable',
  503,
  'The search engine of the platform cannot be reached: {reason}',
  { 'retry-after': '5' },
)
