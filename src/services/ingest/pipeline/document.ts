import { textOf } from '../../../painless/text.ts'
import { javaClassOf } from '../../../painless/values.ts'
import { illegalArgument } from './failure.ts'

/** A document on its way through a pipeline: `ctx` holds its fields, its metadata and `_ingest`. */
export interface IngestDocument {
  ctx: Map<unknown, unknown>
  dropped: boolean
  /** Names of the pipelines that are running, outermost first. */
  pipelines: string[]
}

const metadataFields = ['_index', '_type', '_id', '_ingest'] as const

/** Adds the metadata to the fields of a document. */
export function openDocument(
  source: Map<unknown, unknown>,
  index: string,
  type: string,
  id: string,
  timestamp: string,
): IngestDocument {
  source.set('_index', index)
  source.set('_type', type)
  source.set('_id', id)
  source.set('_ingest', new Map([['timestamp', timestamp]]))
  return { ctx: source, dropped: false, pipelines: [] }
}

const metadataText = (value: unknown, fallback: string): string =>
  value === null || value === undefined ? fallback : textOf(value)

/** Takes the metadata out again; a script may have changed it. */
export function closeDocument({ ctx }: IngestDocument, index: string, type: string, id: string) {
  const result = {
    index: metadataText(ctx.get('_index'), index),
    type: metadataText(ctx.get('_type'), type),
    id: metadataText(ctx.get('_id'), id),
    source: ctx,
  }
  for (const name of metadataFields) ctx.delete(name)
  return result
}

/** Splits `a.b.0` into its parts; `_source.` in front is ignored. */
export function splitPath(path: string): string[] {
  if (path === '') throw illegalArgument('path cannot be null nor empty')
  const own = path.startsWith('_source.') ? path.slice('_source.'.length) : path
  const parts = own.split('.')
  if (parts.length > 64 || parts.includes('')) throw illegalArgument(`path [${path}] is not valid`)
  return parts
}

const typeName = (value: unknown): string => javaClassOf(value)

function indexIn(list: unknown[], part: string, path: string): number {
  if (!/^-?\d{1,9}$/.test(part))
    throw illegalArgument(`[${part}] is not an integer, cannot be used as an index as part of path [${path}]`)
  const index = Number(part)
  if (index < 0 || index >= list.length)
    throw illegalArgument(
      `[${index}] is out of bounds for array with length [${list.length}] as part of path [${path}]`,
    )
  return index
}

function resolvePart(value: unknown, part: string, path: string): unknown {
  if (value === null || value === undefined)
    throw illegalArgument(`cannot resolve [${part}] from null as part of path [${path}]`)
  if (value instanceof Map) {
    const found: unknown = value.get(part)
    if (found === undefined && !value.has(part))
      throw illegalArgument(`field [${part}] not present as part of path [${path}]`)
    return found
  }
  if (Array.isArray(value)) return value[indexIn(value, part, path)]
  throw illegalArgument(`cannot resolve [${part}] from object of type [${typeName(value)}] as part of path [${path}]`)
}

/** Returns the value of a field; throws when it is not there. */
export function getField(document: IngestDocument, path: string, parts = splitPath(path)): unknown {
  let value: unknown = document.ctx
  for (const part of parts) value = resolvePart(value, part, path)
  return value
}

/** Returns the value of a field, or undefined when it is not there. */
export function findField(document: IngestDocument, parts: string[]): unknown {
  let value: unknown = document.ctx
  for (const part of parts) {
    if (value instanceof Map) value = value.get(part)
    else if (Array.isArray(value)) value = /^\d{1,9}$/.test(part) ? value[Number(part)] : undefined
    else return undefined
    if (value === undefined) return undefined
  }
  return value
}

/** Sets a field; objects on the way to it are made. */
export function setField(document: IngestDocument, path: string, value: unknown, parts = splitPath(path)): void {
  let parent: unknown = document.ctx
  for (let index = 0; index < parts.length - 1; index++) {
    const part = parts[index]!
    if (parent instanceof Map) {
      let next: unknown = parent.get(part)
      if (next === undefined) {
        next = new Map()
        parent.set(part, next)
      }
      parent = next
    } else parent = resolvePart(parent, part, path)
  }
  const last = parts.at(-1)!
  if (parent instanceof Map) parent.set(last, value)
  else if (Array.isArray(parent)) parent[indexIn(parent, last, path)] = value
  else if (parent === null) throw illegalArgument(`cannot set [${last}] with null parent as part of path [${path}]`)
  else
    throw illegalArgument(
      `cannot set [${last}] with parent object of type [${typeName(parent)}] as part of path [${path}]`,
    )
}

/** Removes a field; throws when it is not there. */
export function removeField(document: IngestDocument, path: string, parts = splitPath(path)): void {
  let parent: unknown = document.ctx
  for (const part of parts.slice(0, -1)) parent = resolvePart(parent, part, path)
  const last = parts.at(-1)!
  if (parent instanceof Map) {
    if (!parent.delete(last)) throw illegalArgument(`field [${last}] not present as part of path [${path}]`)
  } else if (Array.isArray(parent)) parent.splice(indexIn(parent, last, path), 1)
  else if (parent === null) throw illegalArgument(`cannot remove [${last}] from null as part of path [${path}]`)
  else
    throw illegalArgument(`cannot remove [${last}] from object of type [${typeName(parent)}] as part of path [${path}]`)
}

/** Returns a field that must be a text. */
export function getText(document: IngestDocument, path: string, parts = splitPath(path)): string {
  const value = getField(document, path, parts)
  if (typeof value === 'string') return value
  if (value === null) throw illegalArgument(`field [${path}] is null, cannot process it.`)
  throw illegalArgument(`field [${path}] of type [${typeName(value)}] cannot be cast to [java.lang.String]`)
}
