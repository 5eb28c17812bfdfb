import { isIP } from 'node:net'
import { parseDouble, parseInteger } from '../../../../painless/api/numbers.ts'
import { JavaThrow } from '../../../../painless/errors.ts'
import { JsonError, parseDocument } from '../../../../painless/json.ts'
import { allocate, step } from '../../../../painless/meter.ts'
import { textOf } from '../../../../painless/text.ts'
import { boxDouble, makeBox } from '../../../../painless/values.ts'
import { ConfigError, flag, optionalText, requiredText } from '../config.ts'
import { getText, setField } from '../document.ts'
import { illegalArgument, ProcessorError } from '../failure.ts'
import type { ProcessorDefinition } from './define.ts'
import { checkedPath } from './paths.ts'
import { readField, textOptions } from './texts.ts'

const hex = /^([+-]?)(?:0[xX]|#)([0-9a-fA-F]+)$/

function integer(text: string, bits: number): bigint {
  const match = hex.exec(text)
  return match ? parseInteger(match[1]! + match[2]!, 16, bits) : parseInteger(text, 10, bits)
}

/** Functions that convert a text, by the name of the type. A function throws if the text is not a value of its type. */
const conversions: Record<string, (text: string) => unknown> = {
  integer: (text) => Number(integer(text, 32)),
  long: (text) => integer(text, 64),
  float: (text) => makeBox('float', Math.fround(parseDouble(text))),
  double: (text) => boxDouble(parseDouble(text)),
  boolean: (text) => {
    if (/^true$/i.test(text)) return true
    if (/^false$/i.test(text)) return false
    throw illegalArgument(`[${text}] is not a boolean value, cannot convert to boolean`)
  },
  string: (text) => text,
  ip: (text) => {
    if (isIP(text) === 0) throw illegalArgument(`'${text}' is not an IP string literal.`)
    return text
  },
}

/** Converts a text to the first type that fits. If none fits, the text stays as it is. */
function automatic(text: string): unknown {
  for (const type of ['boolean', 'integer', 'long', 'float', 'double'])
    try {
      const value = conversions[type]!(text)
      // If a number would lose digits as a float, it becomes a double.
      if (type === 'float' && !Object.is(Number(text), (value as { value: number }).value)) continue
      return value
    } catch (error) {
      if (!(error instanceof JavaThrow) && !(error instanceof ProcessorError)) throw error
    }
  return text
}

function convertOne(type: string, value: unknown): unknown {
  step()
  if (type === 'auto') return typeof value === 'string' ? automatic(value) : value
  const text = textOf(value)
  try {
    return conversions[type]!(text)
  } catch (error) {
    if (!(error instanceof JavaThrow) || error.fatal) throw error
    throw new ProcessorError('illegal_argument_exception', `unable to convert [${text}] to ${type}`, {
      type: 'number_format_exception',
      reason: error.message,
    })
  }
}

export const convert: ProcessorDefinition = {
  summary: 'Converts a field to another type.',
  options: {
    ...textOptions,
    field: 'Field to convert; a list is converted item by item.',
    type: 'One of `integer`, `long`, `float`, `double`, `string`, `boolean`, `ip`, `auto`.',
  },
  compile: (config) => {
    const field = requiredText(config, 'field')
    const parts = checkedPath(field)
    const type = requiredText(config, 'type').toLowerCase()
    if (type !== 'auto' && !Object.hasOwn(conversions, type))
      throw new ConfigError(`type [${type}] not supported, cannot convert field.`, 'type')
    const target = optionalText(config, 'target_field') ?? field
    const targetParts = checkedPath(target)
    const ignoreMissing = flag(config, 'ignore_missing', false)
    return (document) => {
      const value = readField(document, field, parts, ignoreMissing)
      if (value === null) {
        if (ignoreMissing) return
        throw illegalArgument(`Field [${field}] is null, cannot be converted to type [${type}]`)
      }
      const result = Array.isArray(value) ? value.map((item) => convertOne(type, item)) : convertOne(type, value)
      setField(document, target, result, targetParts)
    }
  },
}

export const json: ProcessorDefinition = {
  summary: 'Reads a text as JSON.',
  options: {
    field: 'Field with the text.',
    target_field: 'Field for the value, default `field`.',
    add_to_root: 'True when the fields of the object become fields of the document. Default: false.',
    add_to_root_conflict_strategy: '`replace` (default) or `merge` for fields that the document already has.',
    allow_duplicate_keys: 'Accepted, but without effect: the last of several equal keys always wins.',
    strict_json_parsing: 'Accepted, but without effect: text after the value is always a failure.',
  },
  compile: (config) => {
    const field = requiredText(config, 'field')
    const parts = checkedPath(field)
    const target = optionalText(config, 'target_field')
    const toRoot = flag(config, 'add_to_root', false)
    if (toRoot && target !== undefined)
      throw new ConfigError('Cannot set a target field while also setting `add_to_root` to true', 'target_field')
    const strategy = optionalText(config, 'add_to_root_conflict_strategy') ?? 'replace'
    if (strategy !== 'replace' && strategy !== 'merge')
      throw new ConfigError(`conflict strategy [${strategy}] not supported`, 'add_to_root_conflict_strategy')
    flag(config, 'allow_duplicate_keys', false)
    flag(config, 'strict_json_parsing', true)
    const targetParts = checkedPath(target ?? field)
    return (document) => {
      const value = readJson(getText(document, field, parts))
      if (!toRoot) return setField(document, target ?? field, value, targetParts)
      if (!(value instanceof Map)) throw illegalArgument('cannot add non-map fields to root of document')
      mergeInto(document.ctx, value, strategy === 'merge')
    }
  },
}

function readJson(text: string): unknown {
  allocate(text.length * 4)
  try {
    return parseDocument(text)
  } catch (error) {
    if (error instanceof JsonError) throw illegalArgument(`the text is not JSON: ${error.message}`)
    throw error
  }
}

function mergeInto(target: Map<unknown, unknown>, source: Map<unknown, unknown>, deep: boolean): void {
  for (const [key, value] of source) {
    const former = target.get(key)
    if (deep && former instanceof Map && value instanceof Map) mergeInto(former, value, true)
    else target.set(key, value)
  }
}
