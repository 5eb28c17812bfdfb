import { compilePattern, replaceMatches, splitText } from '../../../../painless/api/regex.ts'
import { JavaThrow } from '../../../../painless/errors.ts'
import { allocateText, step } from '../../../../painless/meter.ts'
import { trimText } from '../../../../painless/text.ts'
import { javaClassOf } from '../../../../painless/values.ts'
import { type Config, ConfigError, flag, optionalText, requiredText } from '../config.ts'
import { findField, getField, setField } from '../document.ts'
import { illegalArgument } from '../failure.ts'
import type { IngestDocument } from '../types.ts'
import type { ProcessorDefinition, Run } from './define.ts'
import { checkedPath } from './paths.ts'

/** Options that all processors of texts have. */
export const textOptions = {
  field: 'Field to process; a list of texts is processed item by item.',
  target_field: 'Field for the result, default `field`.',
  ignore_missing: 'True when a field that is missing or null is ignored; false when it is a failure. Default: false.',
}

/** Reads a field. If the field is missing, returns null if `ignoreMissing` is true, and throws otherwise. */
export function readField(document: IngestDocument, path: string, parts: string[], ignoreMissing: boolean): unknown {
  return ignoreMissing ? (findField(document, parts) ?? null) : getField(document, path, parts)
}

/** Compiles a processor that converts a text to another value. */
export function textProcessor(config: Config, convert: (text: string) => unknown): Run {
  const field = requiredText(config, 'field')
  const parts = checkedPath(field)
  const target = optionalText(config, 'target_field') ?? field
  const targetParts = checkedPath(target)
  const ignoreMissing = flag(config, 'ignore_missing', false)
  const convertItem = (value: unknown): unknown => {
    step()
    if (typeof value === 'string') return convert(value)
    throw illegalArgument(
      value === null
        ? `field [${field}] is null, cannot process it.`
        : `field [${field}] of type [${javaClassOf(value)}] cannot be cast to [java.lang.String]`,
    )
  }
  return (document) => {
    const value = readField(document, field, parts, ignoreMissing)
    if (value === null && ignoreMissing) return
    setField(document, target, Array.isArray(value) ? value.map(convertItem) : convertItem(value), targetParts)
  }
}

const sized = (text: string): string => {
  allocateText(text.length)
  return text
}

export const lowercase: ProcessorDefinition = {
  summary: 'Writes a text in lower case.',
  options: textOptions,
  compile: (config) => textProcessor(config, (text) => sized(text.toLowerCase())),
}

export const uppercase: ProcessorDefinition = {
  summary: 'Writes a text in upper case.',
  options: textOptions,
  compile: (config) => textProcessor(config, (text) => sized(text.toUpperCase())),
}

export const trim: ProcessorDefinition = {
  summary: 'Removes white space at both ends of a text.',
  options: textOptions,
  compile: (config) => textProcessor(config, (text) => trimText(text)),
}

/** Compiles the pattern of a processor. An invalid pattern is reported as a mistake in the definition. */
function patternOf(config: Config, name: string) {
  const text = requiredText(config, name)
  try {
    return compilePattern(text, 0)
  } catch (error) {
    if (error instanceof JavaThrow) throw new ConfigError(`Invalid regex pattern. ${error.message}`, name)
    throw error
  }
}

export const gsub: ProcessorDefinition = {
  summary: 'Replaces what a regular expression finds in a text.',
  options: {
    ...textOptions,
    pattern: 'Regular expression.',
    replacement: 'Replacement; `$1` stands for the first group.',
  },
  compile: (config) => {
    const pattern = patternOf(config, 'pattern')
    const replacement = requiredText(config, 'replacement')
    return textProcessor(config, (text) => replaceMatches(pattern, text, replacement, true))
  },
}

export const split: ProcessorDefinition = {
  summary: 'Splits a text into a list.',
  options: {
    ...textOptions,
    separator: 'Regular expression between the parts.',
    preserve_trailing: 'True when empty parts at the end are kept. Default: false.',
  },
  compile: (config) => {
    const pattern = patternOf(config, 'separator')
    const limit = flag(config, 'preserve_trailing', false) ? -1 : 0
    return textProcessor(config, (text) => splitText(pattern, text, limit).items)
  },
}
