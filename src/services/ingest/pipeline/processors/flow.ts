import { allocate, step } from '../../../../painless/meter.ts'
import { javaClassOf } from '../../../../painless/values.ts'
import { ConfigError, flag, requiredText, requiredValue, takeValue } from '../config.ts'
import { findField, getField, ingestOf, setField } from '../document.ts'
import { illegalArgument, ProcessorError } from '../failure.ts'
import { compileAction } from '../scripts.ts'
import { compileTemplate } from '../template.ts'
import type { IngestDocument } from '../types.ts'
import { mistakesBody } from '../write.ts'
import type { ProcessorDefinition, Run } from './define.ts'
import { checkedPath } from './paths.ts'

export const script: ProcessorDefinition = {
  summary: 'Runs a Painless script; `ctx` holds the document.',
  options: {
    source: 'Script.',
    lang: '`painless`, which is also the default.',
    params: 'Values that the script finds in `params`.',
  },
  compile: (config, { settings }) => {
    const names = ['source', 'inline', 'lang', 'params', 'options', 'id']
    const presentOptions = names.flatMap((name): [string, unknown][] => {
      const value = takeValue(config, name)
      return value === undefined ? [] : [[name, value]]
    })
    return compileAction(new Map<unknown, unknown>(presentOptions), settings)
  },
}

export const fail: ProcessorDefinition = {
  summary: 'Fails with a message.',
  options: { message: 'Message of the failure; may be a template.' },
  compile: (config) => {
    const message = compileTemplate(requiredText(config, 'message'))
    return (document) => {
      throw new ProcessorError('fail_processor_exception', message(document))
    }
  },
}

export const drop: ProcessorDefinition = {
  summary: 'Drops the document without a failure.',
  options: {},
  compile: () => (document) => {
    document.dropped = true
  },
}

export const foreach: ProcessorDefinition = {
  summary: 'Runs a processor for each item of a list or object, which it finds in `_ingest._value`.',
  options: {
    field: 'Field with the list or object.',
    processor: 'Processor to run.',
    ignore_missing: 'True when a field that is missing or null is ignored; false when it is a failure. Default: false.',
  },
  compile: (config, { compileProcessor }) => {
    const field = requiredText(config, 'field')
    const parts = checkedPath(field)
    const definition = requiredValue(config, 'processor')
    if (!(definition instanceof Map) || definition.size !== 1)
      throw new ConfigError('Must specify exactly one processor type', 'processor')
    const inner = compileProcessor(definition, 'processor')
    const ignoreMissing = flag(config, 'ignore_missing', false)
    return (document) => {
      const value = ignoreMissing ? (findField(document, parts) ?? null) : getField(document, field, parts)
      if (value === null) {
        if (ignoreMissing) return
        throw illegalArgument(`field [${field}] is null, cannot loop over its elements.`)
      }
      if (Array.isArray(value)) setField(document, field, eachItem(document, value, inner), parts)
      else if (value instanceof Map) setField(document, field, eachEntry(document, value, inner), parts)
      else throw illegalArgument(`field [${field}] of type [${javaClassOf(value)}] cannot be cast to a list or map`)
    }
  },
}

/** Runs the processor with `_ingest._value` set to the value. Returns the value that `_ingest._value` has afterwards. */
function visit(document: IngestDocument, value: unknown, inner: Run): unknown {
  step()
  allocate(32)
  const ingest = ingestOf(document)
  const former = ingest.get('_value')
  ingest.set('_value', value)
  try {
    inner(document)
    return ingest.get('_value')
  } finally {
    if (former === undefined) ingest.delete('_value')
    else ingest.set('_value', former)
  }
}

function eachItem(document: IngestDocument, list: unknown[], inner: Run): unknown[] {
  const result: unknown[] = []
  for (const item of [...list]) {
    if (document.dropped) break
    result.push(visit(document, item, inner))
  }
  return result
}

function eachEntry(document: IngestDocument, map: Map<unknown, unknown>, inner: Run): Map<unknown, unknown> {
  const ingest = ingestOf(document)
  const result = new Map<unknown, unknown>()
  for (const [key, item] of [...map]) {
    if (document.dropped) break
    ingest.set('_key', key)
    const value = visit(document, item, inner)
    const name = ingest.get('_key')
    if (name !== null && name !== undefined && value !== undefined) result.set(name, value)
  }
  ingest.delete('_key')
  return result
}

/** Maximum number of pipelines that run inside each other. */
const nestingMax = 16

export const pipeline: ProcessorDefinition = {
  summary: 'Runs another pipeline of the tenant.',
  options: {
    name: 'Name of the pipeline; may be a template.',
    ignore_missing_pipeline: 'If true, a pipeline that does not exist is not a failure. Default: false.',
  },
  compile: (config, { lookup, runPipeline }) => {
    const name = compileTemplate(requiredText(config, 'name'))
    const ignoreMissing = flag(config, 'ignore_missing_pipeline', false)
    return (document) => {
      const pipelineName = name(document)
      if (document.pipelines.includes(pipelineName))
        throw new ProcessorError('illegal_state_exception', `Cycle detected for pipeline: ${pipelineName}`)
      if (document.pipelines.length >= nestingMax)
        throw new ProcessorError('illegal_state_exception', `More than ${nestingMax} pipelines run inside each other.`)
      const found = lookup(pipelineName)
      if (!found) {
        if (ignoreMissing) return
        throw new ProcessorError(
          'illegal_state_exception',
          `Pipeline processor configured for non-existent pipeline [${pipelineName}]`,
        )
      }
      if ('mistakes' in found)
        throw new ProcessorError(
          'illegal_state_exception',
          `pipeline with id [${pipelineName}] could not be loaded, caused by [${mistakesBody(found.mistakes).reason}]`,
        )
      document.pipelines.push(pipelineName)
      try {
        runPipeline(found.pipeline, document)
      } finally {
        document.pipelines.pop()
      }
    }
  },
}
