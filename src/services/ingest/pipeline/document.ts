import { getEntry, hasKey, setOverlay } from '../../../painless/collections.ts'
import { textOf } from '../../../painless/text.ts'
import { javaClassOf } from '../../../painless/values.ts'
import { illegalArgument } from './failure.ts'
import type { IngestDocument, PipelineInput, PipelineOutput } from './types.ts'

/** Returns `_ingest` of the document. */
export function ingestOf(document: IngestDocument): Map<unknown, unknown> {
  document.ingest ??= new Map([['timestamp', document.timestamp]])
  return document.ingest
}

/** Returns the metadata field with this name; undefined for any other name. */
function metadata(document: IngestDocument, key: unknown): unknown {
  switch (key) {
    case '_index':
      return document.index
    case '_id':
      return document.id
    case '_type':
      return document.type
    case '_ingest':
      return ingestOf(document)
    default:
      return undefined
  }
}

/** Opens a document for a pipeline. Scripts, templates and paths can read its metadata as fields of `ctx`. */
export function openDocument({ source, index, type = '_doc', id, timestamp }: PipelineInput): IngestDocument {
  const document: IngestDocument = {
    ctx: source,
    index,
    type,
    id,
    timestamp,
    ingest: undefined,
    dropped: false,
    pipelines: [],
    notes: undefined,
  }
  setOverlay(source, (key) => metadata(document, key))
  return document
}

/** Removes a metadata field such as `_index` from `ctx`. Returns the value that a script assigned to it, or `fallback` without a value. */
function taken(ctx: Map<unknown, unknown>, name: string, fallback: string): string {
  const value = ctx.get(name)
  if (value === undefined) return fallback
  ctx.delete(name)
  return value === null ? fallback : textOf(value)
}

export function closeDocument({ ctx, index, type, id }: IngestDocument): PipelineOutput {
  setOverlay(undefined, () => undefined)
  ctx.delete('_ingest')
  return {
    index: taken(ctx, '_index', index),
    type: taken(ctx, '_type', type),
    id: taken(ctx, '_id', id),
    source: ctx,
  }
}

/** Returns the document in its current state. Only its top level is copied, so later processors may change nested values of the result. */
export function snapshotOf({ ctx, index, type, id }: IngestDocument): PipelineOutput {
  const copy = new Map(ctx)
  copy.delete('_ingest')
  return {
    index: taken(copy, '_index', index),
    type: taken(copy, '_type', type),
    id: taken(copy, '_id', id),
    source: copy,
  }
}

/** Splits `a.b.0` into its parts. A leading `_source.` is ignored. */
export function splitPath(path: string): string[] {
  if (path === '') throw illegalArgument('path cannot be null nor empty')
  const sourcePath = path.startsWith('_source.') ? path.slice('_source.'.length) : path
  const parts = sourcePath.split('.')
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
    const found = getEntry(value, part)
    if (found === null && !hasKey(value, part))
      throw illegalArgument(`field [${part}] not present as part of path [${path}]`)
    return found
  }
  if (Array.isArray(value)) return value[indexIn(value, part, path)]
  throw illegalArgument(`cannot resolve [${part}] from object of type [${typeName(value)}] as part of path [${path}]`)
}

/** Returns the value of a field. Throws if the field does not exist. */
export function getField(document: IngestDocument, path: string, parts = splitPath(path)): unknown {
  let value: unknown = document.ctx
  for (const part of parts) value = resolvePart(value, part, path)
  return value
}

/** Returns the value of a field, or undefined if it does not exist. */
export function findField(document: IngestDocument, parts: string[]): unknown {
  let value: unknown = document.ctx
  for (const part of parts) {
    if (value instanceof Map) {
      const found: unknown = value.get(part)
      value = found !== undefined ? found : (getEntry(value, part) ?? undefined)
    } else if (Array.isArray(value)) value = /^\d{1,9}$/.test(part) ? value[Number(part)] : undefined
    else return undefined
    if (value === undefined) return undefined
  }
  return value
}

/** Sets a field. Missing objects on its path are created. */
export function setField(document: IngestDocument, path: string, value: unknown, parts = splitPath(path)): void {
  let parent: unknown = document.ctx
  for (let index = 0; index < parts.length - 1; index++) {
    const part = parts[index]!
    if (parent instanceof Map) {
      let next: unknown = getEntry(parent, part)
      if (next === null && !parent.has(part)) {
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

/** Removes a field. Throws if the field does not exist. */
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
