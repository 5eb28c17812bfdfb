import { lockOverlay } from '../../../painless/collections.ts'
import { ScriptError } from '../../../painless/errors.ts'
import { compileScript } from '../../../painless/script.ts'
import { mark } from '../../../painless/values.ts'
import { ConfigError } from './config.ts'
import { type ScriptDetails, scriptDetails, scriptError } from './failure.ts'
import type { IngestDocument } from './types.ts'

/** A script that does not compile. */
export class ScriptMistake extends ConfigError {
  readonly script: ScriptDetails
  readonly causedBy: { type: string; reason: string }
  constructor(error: ScriptError, source: string) {
    super('compile error', undefined, 'script_exception')
    this.script = scriptDetails(error, source)
    this.causedBy = { type: scriptError(error, source).causedBy!.type, reason: error.message }
  }
}

interface ScriptText {
  source: string
  params: Map<unknown, unknown>
}

const scriptKeys = new Set(['source', 'inline', 'lang', 'params', 'options'])

/** Reads a script: `{source, lang, params}` or a text. */
export function readScript(value: unknown): ScriptText {
  if (typeof value === 'string') return { source: value, params: frozen(new Map()) }
  if (!(value instanceof Map)) throw new ConfigError('a script must be a text or an object with [source]')
  if (value.has('id')) throw new ConfigError('stored scripts are not supported', 'id', 'illegal_argument_exception')
  const unknown = [...value.keys()].filter((key) => !scriptKeys.has(String(key)))
  if (unknown.length > 0) throw new ConfigError(`unknown field of a script [${unknown.join(', ')}]`)
  const lang: unknown = value.get('lang') ?? 'painless'
  if (lang !== 'painless')
    throw new ConfigError(`script_lang not supported [${String(lang)}]`, undefined, 'illegal_argument_exception')
  const source: unknown = value.get('source') ?? value.get('inline')
  if (typeof source !== 'string')
    throw new ConfigError('must specify either [source] for an inline script or [id] for a stored script')
  const params: unknown = value.get('params') ?? new Map()
  if (!(params instanceof Map)) throw new ConfigError('must be an object', 'params')
  return { source, params: frozen(params) }
}

/** Freezes the parameters. All documents share them, so scripts must not change them. */
function frozen<T>(value: T): T {
  if (value instanceof Map) {
    for (const item of value.values()) frozen(item)
    return mark(value, { readOnly: true })
  }
  if (Array.isArray(value)) {
    value.forEach(frozen)
    return mark(value, { readOnly: true })
  }
  return value
}

export interface ScriptSettings {
  regexEnabled: boolean
}

function compile(source: string, settings: ScriptSettings, returns: string) {
  try {
    return compileScript(source, {
      variables: [
        ['ctx', 'Map'],
        ['params', 'Map'],
      ],
      returns,
      regexEnabled: settings.regexEnabled,
    })
  } catch (error) {
    if (error instanceof ScriptError) throw new ScriptMistake(error, source)
    throw error
  }
}

/** Compiles the script of a processor. */
export function compileAction(value: unknown, settings: ScriptSettings): (document: IngestDocument) => void {
  const { source, params } = readScript(value)
  const script = compile(source, settings, 'def')
  return (document) => {
    try {
      script.run(document.ctx, params)
    } catch (error) {
      if (error instanceof ScriptError) throw scriptError(error, source)
      throw error
    }
  }
}

/** Compiles the script of an `if`. It can only read the fields of the document. */
export function compileCondition(value: unknown, settings: ScriptSettings): (document: IngestDocument) => boolean {
  const { source, params } = readScript(value)
  const script = compile(source, settings, 'boolean')
  return ({ ctx }) => {
    lockOverlay(true)
    try {
      return script.run(ctx, params) as boolean
    } catch (error) {
      if (error instanceof ScriptError) throw scriptError(error, source)
      throw error
    } finally {
      lockOverlay(false)
    }
  }
}
