/** The rules of metadata, pure: which keys and sizes, what differs, what a patch makes of it. */
import { isDeepStrictEqual } from 'node:util'
import { applyPatch, type Operation } from 'rfc6902'
import { InvalidRequest, invalidField } from '../../kernel/errors.ts'
import { PatchTestFailed } from './errors.ts'
import type { MetadataDifference } from './events.ts'

export type Metadata = Record<string, unknown>

export const keyPattern = '^[a-zA-Z0-9_]+$'
export const keyLengthMax = 128
export const bytesMax = 64 * 1024
export const keysMax = 500

/** Maintained by the platform: they survive every change that people and devices make, and cannot be set by them. */
export const connectivityKeys = ['connected', 'connectivity_ts']
const isConnectivity = (key: string) => connectivityKeys.includes(key)

const validKey = new RegExp(keyPattern)

export function checkKey(key: string, field = 'metadata') {
  if (!validKey.test(key) || key.length > keyLengthMax)
    throw invalidField(
      field,
      `key ${JSON.stringify(key.slice(0, 60))}: expected up to ${keyLengthMax} letters, digits and _`,
    )
}

/** A key that somebody else than the platform sets or deletes. */
export function checkOwnKey(key: string, field = 'metadata') {
  checkKey(key, field)
  if (isConnectivity(key)) throw invalidField(field, `key ${key} is maintained by the platform`)
}

/** Keys, number and size; the connectivity keys must be gone already. */
export function checkMetadata(metadata: Metadata, field = 'metadata') {
  const keys = Object.keys(metadata)
  if (keys.length > keysMax) throw invalidField(field, `expected at most ${keysMax} keys`)
  for (const key of keys) checkOwnKey(key, field)
  if (Buffer.byteLength(JSON.stringify(metadata)) > bytesMax)
    throw invalidField(field, `expected at most ${bytesMax} bytes of JSON`)
}

export const withoutConnectivity = (metadata: Metadata): Metadata => pick(metadata, (key) => !isConnectivity(key))

/** As an own property each, `__proto__` too. */
export const pick = (metadata: Metadata, wanted: (key: string) => boolean): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => wanted(key)))

export const withKey = (metadata: Metadata, key: string, value: unknown): Metadata =>
  Object.fromEntries([...Object.entries(metadata).filter(([name]) => name !== key), [key, value]])

export const has = (metadata: Metadata, key: string) => Object.hasOwn(metadata, key)

/** Undefined when nothing differs. */
export function differenceOf(before: Metadata, after: Metadata): MetadataDifference | undefined {
  const added: [string, string][] = []
  const updated: [string, { newValue: string; oldValue: string }][] = []
  const removed: [string, string][] = []
  for (const [key, value] of Object.entries(after)) {
    const newValue = JSON.stringify(value)
    if (!has(before, key)) added.push([key, newValue])
    else if (!isDeepStrictEqual(before[key], value))
      updated.push([key, { newValue, oldValue: JSON.stringify(before[key]) }])
  }
  for (const [key, value] of Object.entries(before)) if (!has(after, key)) removed.push([key, JSON.stringify(value)])
  if (added.length + updated.length + removed.length === 0) return undefined
  return {
    added: Object.fromEntries(added),
    updated: Object.fromEntries(updated),
    removed: Object.fromEntries(removed),
  }
}

/** Names that the library walks past: a patch that addresses them would do something else than it says. */
const unreachable = ['__proto__', 'constructor', 'prototype']
const arrayIndex = /^(?:0|[1-9][0-9]{0,8})$/
const growthMax = 4 * bytesMax

const invalidPatch = (position: number, problem: string) =>
  InvalidRequest({ problem: `body: operation ${position} of the patch: ${problem}` })

/** RFC 6902. Applied whole or not at all: the metadata that is given stays as it is. */
export function patched(metadata: Metadata, operations: unknown[]): Metadata {
  // One level deeper, so that an operation on the whole document has a place to happen.
  const holder = { whole: structuredClone(metadata) as unknown }
  for (const [position, given] of operations.entries()) {
    const operation = checkOperation(position, given)
    checkIndexes(position, holder.whole, operation)
    const [problem] = applyPatch(holder, [deeper(operation)])
    if (problem?.name === 'TestError') throw PatchTestFailed({ position, path: operation.path })
    if (problem) throw invalidPatch(position, `there is nothing to ${operation.op} at ${operation.path || 'the root'}`)
    // Copies of copies double with each operation.
    if (operation.op === 'copy' && JSON.stringify(holder.whole).length > growthMax)
      throw invalidPatch(position, `the metadata grows beyond ${bytesMax} bytes`)
  }
  const { whole } = holder
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw InvalidRequest({ problem: 'body: the patch leaves something else than an object' })
  return whole as Metadata
}

function deeper(operation: Operation): Operation {
  const moved = { ...operation, path: `/whole${operation.path}` }
  return 'from' in moved ? { ...moved, from: `/whole${moved.from}` } : moved
}

const needsValue = ['add', 'replace', 'test']
const needsFrom = ['move', 'copy']

function checkOperation(position: number, given: unknown): Operation {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidPatch(position, 'expected an object')
  const { op, path, from } = given as { op?: unknown; path?: unknown; from?: unknown }
  if (typeof op !== 'string' || ![...needsValue, ...needsFrom, 'remove'].includes(op))
    throw invalidPatch(position, 'op: expected one of add, remove, replace, move, copy, test')
  checkPointer(position, 'path', path)
  if (needsFrom.includes(op)) checkPointer(position, 'from', from)
  if (needsValue.includes(op) && !Object.hasOwn(given, 'value')) throw invalidPatch(position, 'value: is required')
  return given as Operation
}

function checkPointer(position: number, name: string, pointer: unknown) {
  if (typeof pointer !== 'string' || !/^(?:\/(?:[^~]|~[01])*)?$/.test(pointer) || pointer.length > 4096)
    throw invalidPatch(position, `${name}: expected a JSON pointer such as /city`)
  const steps = pointer.split('/')
  const odd = steps.find((step) => unreachable.includes(step))
  if (odd !== undefined) throw invalidPatch(position, `${name}: ${odd} cannot be addressed by a patch`)
}

/** The library takes any text as an index, and one beyond the end for the end. */
function checkIndexes(position: number, whole: unknown, operation: Operation) {
  for (const [name, pointer] of Object.entries({
    path: operation.path,
    ...('from' in operation && { from: operation.from }),
  })) {
    let value: unknown = whole
    const steps = pointer.split('/').slice(1)
    for (const [depth, escaped] of steps.entries()) {
      const step = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(value)) {
        const last = depth === steps.length - 1
        const grows = last && name === 'path' && ['add', 'move', 'copy'].includes(operation.op)
        if (grows && step === '-') break
        if (!arrayIndex.test(step) || Number(step) > value.length - (grows ? 0 : 1))
          throw invalidPatch(position, `${name}: ${step} is no index of the array there`)
        value = value[Number(step)]
      } else if (typeof value === 'object' && value !== null) value = (value as Metadata)[step]
      else break
    }
  }
}
