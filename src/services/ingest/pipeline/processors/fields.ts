import { equal } from '../../../../painless/equality.ts'
import { allocate, step } from '../../../../painless/meter.ts'
import { ConfigError, flag, optionalText, requiredText, requiredValue, takeValue, textList } from '../config.ts'
import { findField, getField, removeField, setField, splitPath } from '../document.ts'
import { illegalArgument } from '../failure.ts'
import { compileTemplate, compileValue, isTemplate, mediaTypeOf, type Template } from '../template.ts'
import type { ProcessorDefinition } from './define.ts'
import { checkedPath } from './paths.ts'

const copied = (value: unknown): unknown => {
  if (value instanceof Map) {
    allocate(64 * value.size)
    return new Map([...value].map(([key, item]) => [key, copied(item)]))
  }
  if (!Array.isArray(value)) return value
  allocate(16 * value.length)
  return value.map(copied)
}

/** Compiles a path, which may be a template. A fixed path is split only once. */
export function compilePath(text: string): { path: Template; parts: (path: string) => string[] } {
  if (isTemplate(text)) return { path: compileTemplate(text), parts: splitPath }
  const fixed = checkedPath(text)
  return { path: () => text, parts: () => fixed }
}

const isEmptyValue = (value: unknown): boolean => value === null || value === ''

export const set: ProcessorDefinition = {
  summary: 'Sets a field to a value.',
  options: {
    field: 'Field to set; may be a template.',
    value: 'Value; texts in it are templates. Give this or `copy_from`.',
    copy_from: 'Field whose value is copied.',
    override: 'True when a field is replaced that already has a value other than null. Default: true.',
    ignore_empty_value: 'If true, a value that is null or an empty text changes nothing. Default: false.',
    media_type:
      'Escaping of `{{field}}`: `application/json` (default), `text/plain` or `application/x-www-form-urlencoded`.',
  },
  compile: (config) => {
    const { path, parts } = compilePath(requiredText(config, 'field'))
    const from = optionalText(config, 'copy_from')
    if (from !== undefined && takeValue(config, 'value') !== undefined)
      throw new ConfigError('cannot set both `copy_from` and `value` in the same processor', 'copy_from')
    const mediaType = mediaTypeOf(config)
    const value = from === undefined ? compileValue(requiredValue(config, 'value'), mediaType) : copyFrom(from)
    const override = flag(config, 'override', true)
    const ignoreEmpty = flag(config, 'ignore_empty_value', false)
    return (document) => {
      const name = path(document)
      const split = parts(name)
      if (!override && (findField(document, split) ?? null) !== null) return
      const result = value(document)
      if (ignoreEmpty && isEmptyValue(result)) return
      setField(document, name, result, split)
    }
  },
}

const copyFrom = (from: string): Template<unknown> => {
  const { path, parts } = compilePath(from)
  return (document) => {
    const name = path(document)
    return copied(getField(document, name, parts(name)))
  }
}

export const remove: ProcessorDefinition = {
  summary: 'Removes fields.',
  options: {
    field: 'Field or list of fields to remove; templates.',
    keep: 'Field or list of fields to keep: all other fields are removed. Give this or `field`.',
    ignore_missing: 'If true, a missing field is not a failure. Default: false.',
  },
  compile: (config) => {
    const ignoreMissing = flag(config, 'ignore_missing', false)
    if (takeValue(config, 'keep') !== undefined) {
      if (takeValue(config, 'field') !== undefined) throw new ConfigError('ether field or keep must be set', 'field')
      return keepOnly(textList(config, 'keep'))
    }
    const fields = textList(config, 'field').map(compilePath)
    return (document) => {
      for (const { path, parts } of fields) {
        step()
        const name = path(document)
        const split = parts(name)
        if (ignoreMissing && findField(document, split) === undefined) continue
        removeField(document, name, split)
      }
    }
  },
}

function keepOnly(fields: string[]): ReturnType<ProcessorDefinition['compile']> {
  const kept = fields.map(compilePath)
  return (document) => {
    const top = new Set(kept.map(({ path }) => splitPath(path(document))[0]))
    for (const key of [...document.ctx.keys()])
      if (!top.has(String(key)) && !String(key).startsWith('_')) document.ctx.delete(key)
  }
}

export const rename: ProcessorDefinition = {
  summary: 'Renames a field.',
  options: {
    field: 'Field to rename; may be a template.',
    target_field: 'New name; may be a template.',
    ignore_missing: 'If true, a missing field is not a failure. Default: false.',
    override: 'True when a field that already has the new name is replaced. Default: false.',
  },
  compile: (config) => {
    const from = compilePath(requiredText(config, 'field'))
    const to = compilePath(requiredText(config, 'target_field'))
    const ignoreMissing = flag(config, 'ignore_missing', false)
    const override = flag(config, 'override', false)
    return (document) => {
      const name = from.path(document)
      const parts = from.parts(name)
      const value = findField(document, parts)
      if (value === undefined) {
        if (ignoreMissing) return
        throw illegalArgument(`field [${name}] doesn't exist`)
      }
      const target = to.path(document)
      const targetParts = to.parts(target)
      if (!override && findField(document, targetParts) !== undefined)
        throw illegalArgument(`field [${target}] already exists`)
      removeField(document, name, parts)
      try {
        setField(document, target, value, targetParts)
      } catch (error) {
        setField(document, name, value, parts)
        throw error
      }
    }
  },
}

export const append: ProcessorDefinition = {
  summary: 'Appends values to a list; a field that is not a list becomes a list.',
  options: {
    field: 'Field to append to; may be a template.',
    value: 'Value or list of values; texts in it are templates.',
    allow_duplicates: 'True when values that the list already has are appended again. Default: true.',
    media_type:
      'Escaping of `{{field}}`: `application/json` (default), `text/plain` or `application/x-www-form-urlencoded`.',
  },
  compile: (config) => {
    const { path, parts } = compilePath(requiredText(config, 'field'))
    const value = compileValue(requiredValue(config, 'value'), mediaTypeOf(config))
    const duplicates = flag(config, 'allow_duplicates', true)
    return (document) => {
      const name = path(document)
      const split = parts(name)
      const newValue = value(document)
      const added = Array.isArray(newValue) ? newValue : [newValue]
      const former = findField(document, split)
      const list = Array.isArray(former) ? former : former === undefined ? [] : [former]
      for (const item of added) {
        step()
        allocate(16)
        if (duplicates || !list.some((other) => equal(other, item))) list.push(item)
      }
      setField(document, name, list, split)
    }
  },
}
