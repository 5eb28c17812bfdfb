import { JsonError, parseDocument } from '../../../painless/json.ts'
import { compilePipeline } from './compile.ts'
import type { CompileResult, Pipeline, PipelineInput, PipelineOutput } from './types.ts'
import { failureBody, mistakesBody, writeOutcome } from './write.ts'

type DocumentMap = Map<unknown, unknown>

function inputOf(document: DocumentMap, timestamp: string): PipelineInput {
  const text = (name: string, byDefault: string) => (document.get(name) as string | undefined) ?? byDefault
  return {
    index: text('_index', '_index'),
    type: text('_type', '_doc'),
    id: text('_id', '_id'),
    source: document.get('_source') as DocumentMap,
    timestamp,
  }
}

/** Runs one document of a simulation and returns its part of the response as JSON text. The text is `null` for a dropped document. */
export function simulateDocument(document: DocumentMap, pipeline: Pipeline, timestamp: string, limit?: number): string {
  const written = writeOutcome(pipeline.run(inputOf(document, timestamp)), limit)
  if ('failure' in written) return JSON.stringify({ error: failureBody(written.failure) })
  if (written.document === null) return 'null'
  return `{"doc":${documentText(written.document, written.text)},"_ingest":${JSON.stringify({ timestamp })}}`
}

const documentText = ({ index, type, id }: PipelineOutput, source: string) =>
  `${JSON.stringify({ _index: index, _type: type, _id: id }).slice(0, -1)},"_source":${source}}`

/**
 * Runs one document and returns the result of each processor as JSON text. `limit` is the size limit for all documents of the response
 * together.
 */
export function simulateVerbosely(document: DocumentMap, pipeline: Pipeline, timestamp: string, limit: number): string {
  const results: string[] = []
  let remaining = limit
  pipeline.trace(inputOf(document, timestamp), ({ processorType, tag, status, failure, document: after }) => {
    const fields: Record<string, unknown> = { processor_type: processorType, ...(tag !== undefined && { tag }), status }
    if (failure && status === 'error') fields.error = failureBody(failure)
    if (failure && status === 'error_ignored') fields.ignored_error = { error: failureBody(failure) }
    const written = after && writeOutcome({ document: after }, Math.max(1, remaining))
    if (!written || !('text' in written)) {
      results.push(JSON.stringify(written ? { ...fields, doc_omitted: true } : fields))
      return
    }
    remaining -= written.text.length
    results.push(`${JSON.stringify(fields).slice(0, -1)},"doc":${documentText(written.document, written.text)}}`)
  })
  return `{"processor_results":[${results.join()}]}`
}

/** The outcome of a simulation without a platform: the documents, or the reason why the simulation failed. */
export type FileSimulation = { documents: string[] } | { problem: string; mistakes: string[] }

const problem = (text: string, mistakes: string[] = []): FileSimulation => ({ problem: text, mistakes })

/**
 * Simulates a file `{pipeline: {processors}, docs: [{_source}]}`. `{processors, docs}` is accepted too. `pipelines` may contain further
 * pipelines by name, for `pipeline` processors.
 */
export function simulateFile(text: string, timestamp: string): FileSimulation {
  let body: unknown
  try {
    body = parseDocument(text)
  } catch (error) {
    if (error instanceof JsonError) return problem(`the file is not JSON: ${error.message}`)
    throw error
  }
  if (!(body instanceof Map)) return problem('the file must hold an object with pipeline and docs')
  const documents: unknown = body.get('docs')
  if (!Array.isArray(documents) || !documents.every(isDocument))
    return problem('docs must be a list of objects with _source')
  const others = compileOthers(body.get('pipelines'))
  const result = compilePipeline(body.get('pipeline') ?? body, others)
  if ('mistakes' in result)
    return problem(
      'the pipeline has mistakes',
      result.mistakes.map((mistake) => String(mistakesBody([mistake]).reason)),
    )
  return { documents: documents.map((document) => simulateDocument(document, result.pipeline, timestamp)) }
}

const isDocument = (value: unknown): value is DocumentMap => value instanceof Map && value.get('_source') instanceof Map

function compileOthers(definitions: unknown): (name: string) => CompileResult | undefined {
  const compiled = new Map<string, CompileResult>()
  const lookup = (name: string) => compiled.get(name)
  for (const [name, definition] of definitions instanceof Map ? definitions : [])
    compiled.set(String(name), compilePipeline(definition, lookup))
  return lookup
}
