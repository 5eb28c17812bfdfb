/** Checks, compares and patches metadata. All functions are pure. */
import { isDeepStrictEqual } from 'node:util'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { applyJsonPatchInTurns } from '../../../kernel/json-patch.ts'
import type { MetadataDifference } from '../events.ts'

export type Metadata = Record<string, unknown>

export const keyPattern = '^[a-zA-Z0-9_]+$'
export const keyLengthMax = 128
export const bytesMax = 64 * 1024
/** Maximum size of request bodies. Spaces and escapes, or a patch, can make them longer than the stored metadata. */
export const bodyBytesMax = 4 * bytesMax
export const keysMax = 500
/** Maximum nesting, the same as for request bodies. It is checked again, because a patch can nest values deeper. */
export const depthMax = 64

/** Returns whether a key is reserved for the platform: users and devices can neither set nor delete it. */
export type IsReserved = (key: string) => boolean

const validKey = new RegExp(keyPattern)

export const isKey = (key: string) => validKey.test(key) && key.length <= keyLengthMax

export function checkKey(key: string, field = 'metadata') {
  if (!isKey(key))
    throw invalidField(
      field,
      `key ${JSON.stringify(key.slice(0, 60))}: expected up to ${keyLengthMax} letters, digits and _`,
    )
}

/** Checks a key that a user or a device sets or deletes. */
export function checkWritableKey(key: string, isReserved: IsReserved, field = 'metadata') {
  checkKey(key, field)
  if (isReserved(key)) throw invalidField(field, `key ${key} is maintained by the platform`)
}

const tooManyKeys = (field: string) => invalidField(field, `expected at most ${keysMax} keys`)

/**
 * Rejects more than twice the maximum number of keys before the keys are processed. The exact limit is checked later, without reserved
 * keys.
 */
export function checkKeyCount(metadata: Metadata, field = 'metadata') {
  if (Object.keys(metadata).length > 2 * keysMax) throw tooManyKeys(field)
}

/** Checks the keys, their number, the size and the depth. Reserved keys must already be removed. */
export function checkMetadata(metadata: Metadata, isReserved: IsReserved, field = 'metadata') {
  const keys = Object.keys(metadata)
  if (keys.length > keysMax) throw tooManyKeys(field)
  for (const key of keys) checkWritableKey(key, isReserved, field)
  // Computing this bound takes less than half as long as writing the text and checking its depth, and almost all metadata is far below the
  // limit.
  if (boundOfBytes(metadata, depthMax) <= bytesMax) return
  const text = JSON.stringify(metadata)
  // A character takes at most three bytes.
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax)
    throw invalidField(field, `expected at most ${bytesMax} bytes of JSON`)
  if (isDeeper(metadata, depthMax)) throw invalidField(field, `nested deeper than ${depthMax} levels`)
}

/** Upper bound for the bytes of a character in JSON: an escaped character takes six. */
const characterBytes = 6
/**
 * Upper bound for the bytes of a number, `true`, `false` or `null`, and for the punctuation around a text, or around a key and its value.
 */
const otherBytes = 32

/** Returns an upper bound for the bytes of the value's JSON. The bound is infinite if the value is nested deeper than `levels`. */
function boundOfBytes(value: unknown, levels: number): number {
  if (typeof value === 'string') return characterBytes * value.length + otherBytes
  if (typeof value !== 'object' || value === null) return otherBytes
  if (levels === 0) return Number.POSITIVE_INFINITY
  let bytes = otherBytes
  if (Array.isArray(value)) for (const item of value) bytes += boundOfBytes(item, levels - 1)
  else
    for (const key of Object.keys(value))
      bytes +=
        characterBytes * key.length + otherBytes + boundOfBytes((value as Record<string, unknown>)[key], levels - 1)
  return bytes
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

export const withoutReserved = (metadata: Metadata, isReserved: IsReserved): Metadata =>
  pick(metadata, (key) => !isReserved(key))

/** Returns an object with the selected keys. Every key becomes an own property, even `__proto__`. */
export const pick = (metadata: Metadata, includes: (key: string) => boolean): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => includes(key)))

export const withKey = (metadata: Metadata, key: string, value: unknown): Metadata =>
  Object.fromEntries([...Object.entries(metadata).filter(([name]) => name !== key), [key, value]])

export const hasKey = (metadata: Metadata, key: string) => Object.hasOwn(metadata, key)

/** Returns the difference between two versions of the metadata, or undefined if they are equal. */
export function differenceOf(before: Metadata, after: Metadata): MetadataDifference | undefined {
  const added: [string, string][] = []
  const updated: [string, { newValue: string; oldValue: string }][] = []
  const removed: [string, string][] = []
  for (const [key, value] of Object.entries(after)) {
    const newValue = JSON.stringify(value)
    if (!hasKey(before, key)) added.push([key, newValue])
    else if (!isDeepStrictEqual(before[key], value))
      updated.push([key, { newValue, oldValue: JSON.stringify(before[key]) }])
  }
  for (const [key, value] of Object.entries(before)) if (!hasKey(after, key)) removed.push([key, JSON.stringify(value)])
  if (added.length + updated.length + removed.length === 0) return undefined
  return {
    added: Object.fromEntries(added),
    updated: Object.fromEntries(updated),
    removed: Object.fromEntries(removed),
  }
}

/** Applies a JSON Patch (RFC 6902) to a copy of the metadata. */
export async function patchedMetadata(metadata: Metadata, operations: unknown[]): Promise<Metadata> {
  const result = await applyJsonPatchInTurns(metadata, operations)
  if (typeof result !== 'object' || result === null || Array.isArray(result))
    throw InvalidRequest({ problem: 'body: the result of the patch is not an object' })
  return result as Metadata
}

interface StoredConnectivity {
  connected?: boolean | null
  connectivityTs?: Date | null
}

/** Returns the metadata that callers read. It includes the connectivity keys if the state is known. */
export function visibleMetadata(row: StoredConnectivity & { metadata: Metadata }): Metadata {
  const { metadata, connected, connectivityTs } = row
  const isKnown = connected !== null && connected !== undefined && connectivityTs
  return isKnown ? { ...metadata, connected, connectivity_ts: connectivityTs.toISOString() } : { ...metadata }
}
