/** Entry point of a thread that runs pipelines. Each version of a tenant's pipelines is compiled once. */
import { parentPort, workerData } from 'node:worker_threads'
import { monotonicMs } from '../../../kernel/clock.ts'
import { parseDocument } from '../../../painless/json.ts'
import { createKnownFields, type Field, type KnownFields } from '../documents/fields.ts'
import { compilePipeline } from '../pipeline/compile.ts'
import { failureSummary } from '../pipeline/failure.ts'
import { simulateDocument, simulateVerbosely } from '../pipeline/simulate.ts'
import type { CompileResult, Pipeline } from '../pipeline/types.ts'
import { mistakesBody, writeOutcome } from '../pipeline/write.ts'
import {
  cells,
  type DocumentOutcome,
  type FromThread,
  flagEnvelopeChanged,
  flagNoTime,
  flagSameTime,
  type PipelineSet,
  type Problem,
  resultLengthMax,
  sliceMs,
  type ToThread,
  type Work,
} from './protocol.ts'
import { envelopeOf, isSameEnvelope, storageProblem, timestampOf } from './stored-document.ts'

interface Tenant extends Omit<PipelineSet, 'version'> {
  compiled: Map<string, CompileResult>
}

type DocumentMap = Map<unknown, unknown>

/** Maximum size of a document that a pipeline returns. */
const documentBytesMax = 2 * 1024 * 1024

const { shared, ...scriptSettings } = workerData as { shared: Int32Array<SharedArrayBuffer>; regexEnabled: boolean }
const tenants = new Map<string, Tenant>()
/** Fields that this thread has reported, by the number of the index. */
const fieldsByIndex = new Map<number, KnownFields>()

const send = (message: FromThread) => parentPort?.postMessage(message)

function tenantOf({ tenantId, pipelines, evicted }: ToThread): Tenant {
  if (evicted !== undefined) tenants.delete(evicted)
  if (pipelines) tenants.set(tenantId, { tenantId, pipelines, compiled: new Map() })
  return tenants.get(tenantId)!
}

function compiledOf(tenant: Tenant, pipelineId: string): CompileResult | undefined {
  const known = tenant.compiled.get(pipelineId)
  if (known) return known
  if (!Object.hasOwn(tenant.pipelines, pipelineId)) return undefined
  const result = compilePipeline(parseDocument(tenant.pipelines[pipelineId]!), lookupOf(tenant), scriptSettings)
  tenant.compiled.set(pipelineId, result)
  return result
}

/** Finds a pipeline by name. As in templates, the name may start with the tenant id. */
const lookupOf = (tenant: Tenant) => (name: string) => {
  const prefix = `${tenant.tenantId}-`
  return (
    compiledOf(tenant, name) ?? (name.startsWith(prefix) ? compiledOf(tenant, name.slice(prefix.length)) : undefined)
  )
}

function problemOf(result: CompileResult | undefined): Problem | undefined {
  if (!result) return { type: 'resource_not_found_exception', reason: 'the pipeline was deleted' }
  if ('pipeline' in result) return undefined
  const error = mistakesBody(result.mistakes)
  return { type: String(error.type), reason: String(error.reason), error }
}

function compile(tenant: Tenant, work: Work, body: DocumentMap | undefined): CompileResult | undefined {
  if (work.kind === 'check') return compilePipeline(parseDocument(work.definition), lookupOf(tenant), scriptSettings)
  if (work.pipelineId !== undefined) return compiledOf(tenant, work.pipelineId)
  return compilePipeline(body?.get('pipeline'), lookupOf(tenant), scriptSettings)
}

const resultsTooLarge: Problem = {
  type: 'circuit_breaking_exception',
  reason: `the earlier documents of this request or batch have grown to more than ${resultLengthMax / 1024 / 1024} MiB`,
}

/**
 * Calls `run` for documents until all are done or the time slice is over. `run` and `failed` return the length of the outcome. Returns the
 * index of the next document, and the length of all outcomes so far.
 */
function runSlice(
  { startAt, stuck, resultLength: earlierLength }: ToThread,
  count: number,
  run: (index: number) => number,
  failed: (index: number, problem: Problem) => number,
): { next: number; resultLength: number } {
  const endsAt = monotonicMs() + sliceMs
  let [next, resultLength] = [startAt, earlierLength]
  for (; next < count && (next === startAt || monotonicMs() < endsAt); next++) {
    const index = next
    const stuckProblem = stuck.length === 0 ? undefined : stuck.find(([stuckIndex]) => stuckIndex === index)?.[1]
    const problem = stuckProblem ?? (resultLength > resultLengthMax ? resultsTooLarge : undefined)
    Atomics.store(shared, cells.current, index + 1)
    resultLength += problem ? failed(index, problem) : run(index)
  }
  return { next, resultLength }
}

const isoOf = (ms: number) => new Date(ms).toISOString()

function runDocuments(message: ToThread, work: Extract<Work, { kind: 'documents' }>, pipeline: Pipeline) {
  const { count, indexNo } = work
  const { startAt } = message
  const documents = work.documents.split('\n')
  const timestamp = isoOf(message.now)
  const known = fieldsOf(indexNo)
  const texts: string[] = []
  const [times, flags] = [new Float64Array(count - startAt), new Uint8Array(count - startAt)]
  const others: [number, DocumentOutcome][] = []
  const fields: Field[] = []
  const setOther = (index: number, outcome: DocumentOutcome) => {
    others.push([index - startAt, outcome])
    texts.push('')
    return 'error' in outcome ? outcome.error.reason.length : 0
  }
  const run = (index: number) => {
    const outcome = runDocument(documents[index]!, pipeline, timestamp, known)
    if (!('doc' in outcome)) return setOther(index, outcome)
    const position = index - startAt
    texts.push(outcome.doc)
    if (outcome.ts === undefined) flags[position]! |= flagSameTime
    else if (outcome.ts === null) flags[position]! |= flagNoTime
    else times[position] = outcome.ts
    if (outcome.envelopeChanged) flags[position]! |= flagEnvelopeChanged
    if (outcome.fields) fields.push(...outcome.fields)
    return outcome.doc.length
  }
  const failed = (index: number, { type, reason }: Problem) =>
    setOther(index, { error: { processor: '', type, reason } })
  const { next, resultLength } = runSlice(message, count, run, failed)
  const done = next - startAt
  const packed = { texts: texts.join('\n'), times: times.slice(0, done), flags: flags.slice(0, done), others, fields }
  send({ type: 'documents', isLast: next >= count, resultLength, ...packed })
}

function fieldsOf(indexNo: number): KnownFields {
  const known = fieldsByIndex.get(indexNo)
  if (known) return known
  if (fieldsByIndex.size > 1000) fieldsByIndex.clear()
  const fields = createKnownFields({ isOfScript: true })
  fieldsByIndex.set(indexNo, fields)
  return fields
}

function runDocument(text: string, pipeline: Pipeline, timestamp: string, known: KnownFields): DocumentOutcome {
  const source = parseDocument(text) as DocumentMap
  const envelope = envelopeOf(source)
  const time = source.get('@timestamp')
  const written = writeOutcome(pipeline.run({ index: '_index', id: '_id', source, timestamp }), documentBytesMax)
  if ('failure' in written) return { error: failureSummary(written.failure) }
  if (written.document === null) return { dropped: true }
  const problem = storageProblem(written.text)
  if (problem) return { error: { processor: '', type: 'illegal_argument_exception', reason: problem } }
  const fields = known.newFields(written.document.source)
  return {
    doc: written.text,
    // Parsing a date takes as long as a step of a pipeline, so it is skipped if the value did not change.
    ts: written.document.source.get('@timestamp') === time ? undefined : timestampOf(written.document.source),
    envelopeChanged: !isSameEnvelope(envelope, written.document.source),
    ...(fields.length > 0 && { fields }),
  }
}

function runSimulation(message: ToThread, body: DocumentMap, pipeline: Pipeline, isVerbose: boolean) {
  const documents = body.get('docs') as DocumentMap[]
  const timestamp = isoOf(message.now)
  const outcomes: string[] = []
  const simulate = isVerbose ? simulateVerbosely : simulateDocument
  const add = (outcome: string) => {
    outcomes.push(outcome)
    return outcome.length
  }
  const run = (index: number) => add(simulate(documents[index]!, pipeline, timestamp, documentBytesMax))
  const failed = (_index: number, { type, reason }: Problem) =>
    add(JSON.stringify({ error: { root_cause: [{ type, reason }], type, reason } }))
  const { next, resultLength } = runSlice(message, documents.length, run, failed)
  send({ type: 'outcomes', outcomes, isLast: next >= documents.length, resultLength })
}

function handle(message: ToThread) {
  const { work } = message
  const tenant = tenantOf(message)
  // The watchdog reads this cell to know for which document a pipeline is being compiled.
  Atomics.store(shared, cells.current, message.startAt + 1)
  const isStuck = work.kind === 'check' && message.stuck[0]
  if (isStuck) return send({ type: 'problem', problem: isStuck[1] })
  const body = work.kind === 'simulate' ? (parseDocument(work.body) as DocumentMap) : undefined
  const result = compile(tenant, work, body)
  const problem = problemOf(result)
  if (problem) return send({ type: 'problem', problem })
  const { pipeline } = result as { pipeline: Pipeline }
  if (work.kind === 'check') return send({ type: 'outcomes', outcomes: [], isLast: true, resultLength: 0 })
  if (work.kind === 'simulate') return runSimulation(message, body!, pipeline, work.isVerbose)
  return runDocuments(message, work, pipeline)
}

parentPort?.on('message', handle)
send({ type: 'ready' })
