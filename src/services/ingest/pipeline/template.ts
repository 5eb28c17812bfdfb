import { getEntry } from '../../../painless/collections.ts'
import { allocateText, step } from '../../../painless/meter.ts'
import { textOf } from '../../../painless/text.ts'
import { type Config, ConfigError, optionalText } from './config.ts'
import type { IngestDocument } from './types.ts'

/** Creates a text, or a value that contains texts, from a document. */
export type Template<T = string> = (document: IngestDocument) => T

type Part = (stack: unknown[]) => string

/** Maximum nesting of sections. */
const depthMax = 16

/**
 * Compiles a mustache template: `{{field}}`, `{{{field}}}`, `{{&field}}`, sections, inverted sections and comments. With two braces, the
 * value is escaped for the media type; with three braces or `&`, it is unchanged.
 */
export function compileTemplate(text: string, mediaType = defaultMediaType): Template {
  if (!text.includes('{{')) return () => text
  const tags = tokenize(text)
  const cursor = { at: 0 }
  const parts = parse(tags, cursor, undefined, 0, escapes[mediaType]!)
  return (document) => {
    step()
    const { ctx } = document
    const result = parts.map((part) => part([ctx])).join('')
    allocateText(result.length)
    return result
  }
}

export const isTemplate = (text: string): boolean => text.includes('{{')

interface Tag {
  kind: 'text' | 'value' | 'raw' | '#' | '^' | '/'
  name: string
}

const tagPattern = /\{\{\{\s*([^{}]+?)\s*\}\}\}|\{\{\s*([#^/!&]?)\s*([^{}]*?)\s*\}\}/g

function tokenize(text: string): Tag[] {
  const tags: Tag[] = []
  let at = 0
  for (const match of text.matchAll(tagPattern)) {
    if (match.index > at) tags.push({ kind: 'text', name: text.slice(at, match.index) })
    at = match.index + match[0].length
    if (match[1] !== undefined) tags.push({ kind: 'raw', name: match[1] })
    else if (match[2] === '!') continue
    else if (match[3] === '') throw new ConfigError(`the template [${text}] has a tag without name`)
    else tags.push({ kind: match[2] === '' ? 'value' : match[2] === '&' ? 'raw' : (match[2] as '#'), name: match[3]! })
  }
  const tail = text.slice(at)
  if (tail.includes('{{')) throw new ConfigError(`the template [${text}] has a tag that is not closed`)
  if (tail !== '') tags.push({ kind: 'text', name: tail })
  return tags
}

function parse(
  tags: Tag[],
  cursor: { at: number },
  section: string | undefined,
  depth: number,
  escaped: (text: string) => string,
): Part[] {
  if (depth > depthMax) throw new ConfigError('the sections of a template are nested too deeply')
  const parts: Part[] = []
  while (cursor.at < tags.length) {
    const { kind, name } = tags[cursor.at++]!
    if (kind === '/') {
      if (name !== section) throw new ConfigError(`the template closes the section [${name}], which is not open`)
      return parts
    }
    if (kind === 'text') parts.push(() => name)
    else if (kind === 'value') parts.push((stack) => escaped(shown(lookup(stack, name))))
    else if (kind === 'raw') parts.push((stack) => shown(lookup(stack, name)))
    else parts.push(sectionPart(kind, name, parse(tags, cursor, name, depth + 1, escaped)))
  }
  if (section !== undefined) throw new ConfigError(`the template does not close the section [${section}]`)
  return parts
}

function sectionPart(kind: '#' | '^', name: string, inner: Part[]): Part {
  const render = (stack: unknown[]): string => {
    step()
    const text = inner.map((part) => part(stack)).join('')
    allocateText(text.length)
    return text
  }
  return (stack) => {
    const value = lookup(stack, name)
    const empty =
      value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0)
    if (kind === '^') return empty ? render(stack) : ''
    if (empty) return ''
    return Array.isArray(value) ? value.map((item) => render([...stack, item])).join('') : render([...stack, value])
  }
}

const shown = (value: unknown): string => (value === undefined || value === null ? '' : textOf(value))

/** The functions that escape the value of `{{field}}`, by media type. */
const escapes: Record<string, (text: string) => string> = {
  'application/json': (text) => JSON.stringify(text).slice(1, -1),
  'text/plain': (text) => text,
  'application/x-www-form-urlencoded': (text) => encodeURIComponent(text.toWellFormed()).replaceAll('%20', '+'),
}
const defaultMediaType = 'application/json'

/** Reads the option `media_type`. */
export function mediaTypeOf(config: Config): string {
  const name = optionalText(config, 'media_type') ?? defaultMediaType
  if (!Object.hasOwn(escapes, name))
    throw new ConfigError(
      `property does not contain a supported media type [${name}]; must be one of ${Object.keys(escapes).join(', ')}`,
      'media_type',
    )
  return name
}

function lookup(stack: unknown[], name: string): unknown {
  if (name === '.') return stack.at(-1)
  const [first, ...others] = name.split('.')
  for (let index = stack.length - 1; index >= 0; index--) {
    const found = child(stack[index], first!)
    if (found === undefined) {
      if (index === 0 && first === '_source') return others.reduce(child, stack[0])
      continue
    }
    return others.reduce(child, found)
  }
  return undefined
}

function child(value: unknown, part: string): unknown {
  if (value instanceof Map) return getEntry(value, part) ?? undefined
  if (!Array.isArray(value)) return undefined
  return part === 'size' ? value.length : /^\d{1,9}$/.test(part) ? value[Number(part)] : undefined
}

/** Compiles a value in which every text is a template. Lists and objects are copied for each document. */
export function compileValue(value: unknown, mediaType = defaultMediaType): Template<unknown> {
  if (typeof value === 'string') return compileTemplate(value, mediaType)
  if (Array.isArray(value)) {
    const items = value.map((item) => compileValue(item, mediaType))
    return (document) => items.map((item) => item(document))
  }
  if (value instanceof Map) {
    const entries = [...value].map(
      ([key, item]) => [compileTemplate(String(key), mediaType), compileValue(item, mediaType)] as const,
    )
    return (document) => new Map(entries.map(([key, item]) => [key(document), item(document)]))
  }
  return () => value
}
