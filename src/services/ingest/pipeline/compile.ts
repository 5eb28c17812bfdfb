import { type Limits, startMeter, step } from '../../../painless/meter.ts'
import { type Config, ConfigError, finishConfig, flag, openConfig, optionalText, takeValue } from './config.ts'
import { closeDocument, ingestOf, openDocument, snapshotOf } from './document.ts'
import { asProcessorError, type Failure, isFatal, ProcessorError } from './failure.ts'
import type { Context, Run } from './processors/define.ts'
import { findProcessor } from './processors/registry.ts'
import { compileCondition, ScriptMistake, type ScriptSettings } from './scripts.ts'
import type { CompileResult, IngestDocument, Mistake, Outcome, Pipeline, PipelineInput, TracedStep } from './types.ts'

/** Maximum number of processors in a pipeline, including the processors in `on_failure`. */
const processorsMax = 1000
/** Maximum nesting of processors in `foreach` and `on_failure`. */
const depthMax = 16

/** The error of a processor, with its position. The document fails with this error, unless `ignore_failure` or `on_failure` handles it. */
class PositionedError extends ProcessorError {
  readonly position: string
  readonly processorType: string
  readonly tag: string | undefined
  constructor(error: ProcessorError, position: string, processorType: string, tag: string | undefined) {
    super(error.type, error.message, error.causedBy, error.script)
    this.position = position
    this.processorType = processorType
    this.tag = tag
  }
}

/** A processor in a list of processors, compiled. */
interface Step {
  run: Run
  position: string
  type: string
  tag: string | undefined
}

interface Building {
  mistakes: Mistake[]
  count: number
  lookup: Context['lookup']
  settings: ScriptSettings
}

/**
 * Compiles a pipeline. `definition` is its JSON as parsed by `parseDocument`. `lookup` finds other pipelines by name when a document
 * reaches a `pipeline` processor. The result is either a pipeline that can run or a list of mistakes.
 */
export function compilePipeline(
  definition: unknown,
  lookup: Context['lookup'] = () => undefined,
  settings: ScriptSettings = { regexEnabled: true },
): CompileResult {
  const building: Building = { mistakes: [], count: 0, lookup, settings }
  startMeter()
  if (!(definition instanceof Map)) return { mistakes: [mistake('', new ConfigError('a pipeline must be an object'))] }
  const processors = definition.get('processors')
  if (!Array.isArray(processors))
    return { mistakes: [mistake('processors', new ConfigError('required property is missing', 'processors'))] }
  const main = compileSteps(processors, 'processors', building, 0)
  const handlers: unknown = definition.get('on_failure')
  const onFailure =
    handlers === undefined || handlers === null ? undefined : compileHandlers(handlers, 'on_failure', building, 0)
  if (building.mistakes.length > 0) return { mistakes: building.mistakes }
  return { pipeline: makePipeline(main, onFailure) }
}

function mistake(position: string, error: ConfigError): Mistake {
  return {
    position,
    type: error.type,
    reason: error.message,
    property: error.property,
    causedBy: error instanceof ScriptMistake ? error.causedBy : undefined,
    script: error instanceof ScriptMistake ? error.script : undefined,
  }
}

function compileSteps(definitions: unknown[], path: string, building: Building, depth: number): Step[] {
  return definitions.map((definition, index) => {
    const run = compileProcessor(definition, `${path}.${index}`, building, depth)
    // If the definition is not a Map with one entry, `compileProcessor` has recorded a mistake, and the pipeline never runs.
    const [type, options] = (definition instanceof Map ? [...definition][0] : undefined) ?? ['', undefined]
    const tag = options instanceof Map ? (options.get('tag') as string | null | undefined) : undefined
    return { run, position: `${path}.${index}.${type}`, type: String(type), tag: tag ?? undefined }
  })
}

function runOf(steps: Step[]): Run {
  const runs = steps.map(({ run }) => run)
  return (document) => {
    for (let index = 0; index < runs.length; index++) {
      runs[index]!(document)
      if (document.dropped) return
    }
  }
}

function compileHandlers(definitions: unknown, path: string, building: Building, depth: number): Step[] {
  if (!Array.isArray(definitions) || definitions.length === 0) {
    building.mistakes.push(
      mistake(path, new ConfigError('must be a list of processors that is not empty', 'on_failure')),
    )
    return []
  }
  return compileSteps(definitions, path, building, depth + 1)
}

/** Compiles one `{type: options}`. After a mistake it continues, so that all mistakes are reported together. */
function compileProcessor(definition: unknown, path: string, building: Building, depth: number): Run {
  let position = path
  try {
    // Too many processors are one mistake. Without this return, the response would contain the mistake for each further processor.
    if (++building.count > processorsMax + 1) return () => undefined
    if (building.count > processorsMax) throw new ConfigError(`a pipeline has at most ${processorsMax} processors`)
    if (depth > depthMax) throw new ConfigError('processors are nested too deeply')
    if (!(definition instanceof Map) || definition.size !== 1)
      throw new ConfigError('a processor must be an object with one field, its type')
    const [[type, options]] = [...definition] as [[string, unknown]]
    position = `${path}.${type}`
    const found = findProcessor(type)
    if (!found) throw new ConfigError(`No processor type exists with name [${type}]`)
    if (!(options instanceof Map)) throw new ConfigError('the options of a processor must be an object')
    const config = openConfig(type, options)
    const wrap = compileCommon(config, position, building, depth)
    const run = found.compile(config, contextFor(position, building, depth))
    finishConfig(config)
    return wrap(run)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    building.mistakes.push(mistake(position, error))
    return () => undefined
  }
}

const contextFor = (position: string, building: Building, depth: number): Context => ({
  settings: building.settings,
  lookup: building.lookup,
  compileProcessor: (definition, name) => compileProcessor(definition, `${position}.${name}`, building, depth + 1),
  runPipeline: (pipeline, document) => pipeline.runInside(document),
})

/** Reads the options that every processor has. Returns a function that applies them to the run of the processor. */
function compileCommon(config: Config, position: string, building: Building, depth: number): (run: Run) => Run {
  const tag = optionalText(config, 'tag')
  optionalText(config, 'description')
  const ignoreFailure = flag(config, 'ignore_failure', false)
  const condition = takeValue(config, 'if')
  const test =
    condition === undefined || condition === null ? undefined : compileCondition(condition, building.settings)
  const handlers = takeValue(config, 'on_failure')
  const onFailure =
    handlers === undefined || handlers === null
      ? undefined
      : compileHandlers(handlers, `${position}.on_failure`, building, depth)
  const type = config.processorType
  return (run) => {
    const guarded: Run = (document) => {
      // Only processors of called pipelines count as steps here: a called pipeline can run many times, the outermost pipeline runs once.
      if (document.pipelines.length > 0) step()
      try {
        if (test && !test(document)) return recordOutcome(document, position, undefined)
        run(document)
      } catch (error) {
        throw positioned(error, position, type, tag)
      }
    }
    const handled = onFailure ? withHandlers(guarded, runOf(onFailure), position) : guarded
    return ignoreFailure ? ignoring(handled, position) : handled
  }
}

const positioned = (error: unknown, position: string, type: string, tag: string | undefined): PositionedError =>
  error instanceof PositionedError ? error : new PositionedError(asProcessorError(error), position, type, tag)

/** In a traced run, records the outcome of a processor of the traced pipeline. Processors of pipelines that it calls are not recorded. */
function recordOutcome(document: IngestDocument, position: string, error: ProcessorError | undefined) {
  if (document.notes && document.pipelines.length === 0) document.notes.set(position, error)
}

const ignoring =
  (run: Run, position: string): Run =>
  (document) => {
    try {
      run(document)
    } catch (error) {
      if (!(error instanceof ProcessorError) || isFatal(error)) throw error
      recordOutcome(document, position, error)
    }
  }

const failureFields = ['on_failure_message', 'on_failure_processor_type', 'on_failure_processor_tag'] as const

/** Runs the handlers if the processors fail. The handlers find the failure in `_ingest`. */
function withHandlers(run: Run, handlers: Run, position?: string): Run {
  return (document) => {
    try {
      run(document)
    } catch (error) {
      if (!(error instanceof PositionedError) || isFatal(error)) throw error
      if (position !== undefined) recordOutcome(document, position, error)
      const ingest = ingestOf(document)
      ingest.set('on_failure_message', error.causedBy ? `${error.message}: ${error.causedBy.reason}` : error.message)
      ingest.set('on_failure_processor_type', error.processorType)
      ingest.set('on_failure_processor_tag', error.tag ?? null)
      try {
        handlers(document)
      } finally {
        for (const name of failureFields) ingest.delete(name)
      }
    }
  }
}

function makePipeline(steps: Step[], handlers: Step[] | undefined): Pipeline {
  const main = handlers ? withHandlers(runOf(steps), runOf(handlers)) : runOf(steps)
  const run = (input: PipelineInput, limits?: Limits): Outcome => {
    startMeter(limits)
    const document = openDocument(input)
    try {
      main(document)
    } catch (error) {
      return { failure: failureOf(error) }
    }
    return { document: document.dropped ? null : closeDocument(document) }
  }
  const trace: Pipeline['trace'] = (input, report) => {
    startMeter()
    const document = openDocument(input)
    document.notes = new Map()
    const traced: Run = () => traceSteps(steps, document, report)
    const whole = handlers ? withHandlers(traced, () => traceSteps(handlers, document, report)) : traced
    try {
      whole(document)
    } catch (error) {
      // The step that failed has already been reported.
      if (!(error instanceof PositionedError)) throw error
    } finally {
      closeDocument(document)
    }
  }
  return { run, runInside: main, trace }
}

function traceSteps(steps: Step[], document: IngestDocument, report: (step: TracedStep) => void) {
  for (const { run, position, type: processorType, tag } of steps) {
    document.notes!.clear()
    try {
      run(document)
    } catch (error) {
      report({ processorType, tag, status: 'error', failure: failureOf(error), document: undefined })
      throw error
    }
    const error = document.notes!.get(position)
    const isSkipped = !error && document.notes!.has(position)
    report({
      ...{ processorType, tag, failure: error && failureOf(error) },
      status: error ? 'error_ignored' : document.dropped ? 'dropped' : isSkipped ? 'skipped' : 'success',
      document: document.dropped || isSkipped ? undefined : snapshotOf(document),
    })
    if (document.dropped) return
  }
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof PositionedError)) throw error
  return {
    processor: error.position,
    processorType: error.processorType,
    tag: error.tag,
    type: error.type,
    reason: error.message,
    causedBy: error.causedBy,
    script: error.script,
  }
}
