/**
 * Applies JSON Patch (RFC 6902). Only own properties are used, so `__proto__` and `toString` are ordinary names. The total size of copies
 * is limited, so that a short patch cannot cause much work.
 */
import { defineError, InvalidRequest } from './errors.ts'
import { sameJson } from './same-json.ts'
import { createTurns } from './turns.ts'

export const PatchTestFailed = defineError<{ position: number; path: string }>(
  'patch_test_failed',
  409,
  'Operation {position} of the patch failed: the value at {path} is not the tested value; nothing was changed',
)

type Container = Record<string, unknown> | unknown[]

interface Operation {
  op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  path: string
  from: string
  value: unknown
}

/** Limits the characters of all copies together, because copies of copies double with each operation. */
const copiedMax = 256 * 1024
const pointerLengthMax = 4096

/** Returns the patched document. `document` stays unchanged. The result may be any JSON, because a patch can replace the root. */
export function applyJsonPatch(document: unknown, operations: unknown[]): unknown {
  const steps = patchSteps(document, operations)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Does the same as `applyJsonPatch`, but lets other requests run between the operations. Insertions into a long list can take a second. */
export async function applyJsonPatchInTurns(document: unknown, operations: unknown[]): Promise<unknown> {
  const takeTurns = createTurns()
  const steps = patchSteps(document, operations)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    const turn = takeTurns()
    if (turn) await turn
  }
}

/** Applies the operations and yields after each. Returns the patched document. */
function* patchSteps(document: unknown, operations: unknown[]): Generator<undefined, unknown> {
  // The holder is the parent of the root, so that operations on the root work like all other operations.
  const holder = { root: cloneJson(document) }
  let copiedLength = 0
  const cloneWithinLimit = (value: unknown): unknown => {
    const text = JSON.stringify(value)
    copiedLength += text.length
    return copiedLength > copiedMax ? undefined : JSON.parse(text)
  }
  for (const [position, rawOperation] of operations.entries()) {
    yield
    const invalidOperation = (problem: string) =>
      InvalidRequest({ problem: `body: operation ${position} of the patch: ${problem}` })
    const operation = readOperation(rawOperation, invalidOperation)
    const { op, path, from } = operation
    const noValueAt = (pointer: string) => invalidOperation(`there is nothing to ${op} at ${pointer || 'the root'}`)
    if (op === 'test') {
      const location = locationOf(holder, path)
      if (!sameJson(operation.value, location?.value)) throw PatchTestFailed({ position, path })
      continue
    }
    // The value is copied, because a later operation may change it and the patch itself must stay unchanged.
    let value = position < operations.length - 1 ? cloneJson(operation.value) : operation.value
    if (op === 'move' || op === 'copy') {
      const source = locationOf(holder, from)
      if (source?.value === undefined) throw noValueAt(from)
      if (op === 'move' && path.startsWith(`${from}/`))
        throw invalidOperation(`${from || 'the root'} cannot be moved into itself`)
      value = op === 'copy' ? cloneWithinLimit(source.value) : source.value
      if (value === undefined) throw invalidOperation(`the copies have more than ${copiedMax} bytes in total`)
      if (op === 'move') remove(source)
    }
    const location = locationOf(holder, path)
    const exists = location?.value !== undefined
    if (!location || (!exists && (op === 'remove' || op === 'replace'))) throw noValueAt(path)
    if (op === 'remove') remove(location)
    else if (op === 'replace') put(location, value)
    else if (!add(location, value)) throw invalidOperation(`path: ${location.name} is not an index of the array there`)
  }
  return holder.root
}

/** Copies JSON three times as fast as structuredClone. */
const cloneJson = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value

interface Location {
  parent: Container
  name: string
  /** The current value at the location; undefined if there is no value. */
  value: unknown
}

/** Returns the location of a pointer, or undefined if its parent does not exist. */
function locationOf(holder: Container, pointer: string): Location | undefined {
  const steps = ['root', ...pointer.split('/').slice(1).map(unescaped)]
  const name = steps.pop()!
  let parent: unknown = holder
  for (const step of steps) parent = valueAt(parent, step)
  return isContainer(parent) ? { parent, name, value: valueAt(parent, name) } : undefined
}

const unescaped = (step: string) => step.replaceAll('~1', '/').replaceAll('~0', '~')
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null
const arrayIndex = /^(?:0|[1-9][0-9]{0,8})$/

function valueAt(container: unknown, name: string): unknown {
  if (!isContainer(container)) return undefined
  if (Array.isArray(container)) return arrayIndex.test(name) ? container[Number(name)] : undefined
  return Object.hasOwn(container, name) ? container[name] : undefined
}

function put({ parent, name }: Location, value: unknown) {
  if (Array.isArray(parent)) parent[Number(name)] = value
  // An assignment to the name `__proto__` would set the prototype instead of a property.
  else Object.defineProperty(parent, name, { value, configurable: true, enumerable: true, writable: true })
}

function remove({ parent, name }: Location) {
  if (Array.isArray(parent)) parent.splice(Number(name), 1)
  else delete parent[name]
}

/** Adds a value. Returns false if the parent is an array and the name is not a valid index. */
function add(location: Location, value: unknown): boolean {
  const { parent, name } = location
  if (!Array.isArray(parent)) put(location, value)
  else if (name === '-') parent.push(value)
  else if (arrayIndex.test(name) && Number(name) <= parent.length) parent.splice(Number(name), 0, value)
  else return false
  return true
}

const needsValue = ['add', 'replace', 'test']
const needsFrom = ['move', 'copy']

function readOperation(raw: unknown, invalidOperation: (problem: string) => Error): Operation {
  if (!isContainer(raw) || Array.isArray(raw)) throw invalidOperation('expected an object')
  const { op, path, from } = raw
  if (typeof op !== 'string' || ![...needsValue, ...needsFrom, 'remove'].includes(op))
    throw invalidOperation('op: expected one of add, remove, replace, move, copy, test')
  for (const [name, pointer] of Object.entries({ path, ...(needsFrom.includes(op) && { from }) }))
    if (typeof pointer !== 'string' || pointer.length > pointerLengthMax || !/^(?:\/(?:[^~]|~[01])*)?$/.test(pointer))
      throw invalidOperation(`${name}: expected a JSON pointer such as /city`)
  if (needsValue.includes(op) && !Object.hasOwn(raw, 'value')) throw invalidOperation('value: is required')
  return raw as unknown as Operation
}
