import type { Expression, ExpressionOf } from '../ast.ts'
import { boxerFor, castFromDef } from '../casts.ts'
import { getEntry, putEntry } from '../collections.ts'
import {
  arrayIndex,
  findGetter,
  findSetter,
  readField,
  readIndex,
  readItem,
  writeField,
  writeIndex,
  writeItem,
} from '../dynamic.ts'
import { CompileError, nullPointer } from '../errors.ts'
import { step } from '../meter.ts'
import { boxedType, defType, findType, intType, isAssignable, type Type } from '../types.ts'
import type { JavaArray } from '../values.ts'
import { type Compiled, castTo, findVariable, type Run, type Scope } from './context.ts'

type Read = (target: unknown, key: unknown) => unknown
type Write = (target: unknown, key: unknown, value: unknown) => void

/** A variable, field or element that a script can read (`read`, `slot`) or assign (`write`, `slot`). */
export interface Assignable {
  type: Type
  at: number
  /** Slot of a variable. */
  slot?: number
  target?: Run
  key?: Run
  read?: Read
  write?: Write
  nullSafe?: boolean
  /** Present if the value is known at compile time. */
  constant?: { value: unknown }
}

const isMap = (type: Type): boolean => isAssignable(findType('Map')!, type)
const isList = (type: Type): boolean => isAssignable(findType('List')!, type)

/** Compiles the target of an assignment or a read. Returns undefined for expressions to which nothing can be assigned. */
export function compileAssignable(node: Expression, scope: Scope): Assignable | undefined {
  switch (node.kind) {
    case 'name': {
      const variable = findVariable(scope, node.name)
      if (!variable) throw new CompileError(node.at, `cannot resolve symbol [${node.name}]`)
      return { type: variable.type, at: node.at, slot: variable.slot }
    }
    case 'field':
      return fieldAssignable(node, scope)
    case 'index':
      return indexAssignable(node, scope)
    default:
      return undefined
  }
}

function fieldAssignable(node: ExpressionOf<'field'>, scope: Scope): Assignable {
  if (node.target.kind === 'type') return staticField(node, node.target.type.name)
  const target = scope.owner.script.expression(node.target, scope)
  const assignable = { at: node.at, nullSafe: node.nullSafe, target: notNull(target, node.nullSafe, node.name).run }
  const { name } = node
  if (target.type === defType)
    return {
      ...assignable,
      type: defType,
      read: (object) => {
        step()
        return readField(object, name)
      },
      write: (object, _key, value) => {
        step()
        writeField(object, name, value)
      },
    }
  const found = memberAssignable(target.type, name, node.at)
  if (node.nullSafe && found.type.primitive)
    throw new CompileError(node.at, 'Result of null safe operator must be nullable')
  if (node.nullSafe && target.type.primitive)
    throw new CompileError(node.at, `The null safe operator cannot be applied to [${target.type.name}]`)
  return { ...assignable, ...found }
}

function staticField(node: ExpressionOf<'field'>, typeName: string): Assignable {
  const type = findType(typeName)!
  const constant = type.info?.constants.get(node.name)
  if (!constant) throw new CompileError(node.at, `static field [${type.name}, ${node.name}] not found`)
  return { type: constant.type, at: node.at, constant: { value: constant.value } }
}

/** Finds a member by the static type of its object: a length, a getter and setter, a key of a map, or an index of a list. */
function memberAssignable(type: Type, name: string, at: number): { type: Type; read?: Read; write?: Write } {
  if (type.element) {
    if (name !== 'length') throw new CompileError(at, `Field [${name}] does not exist for type [${type.name}].`)
    return { type: intType, read: (array) => (array as JavaArray).items.length }
  }
  const { info } = boxedType(type)
  const getter = info && findGetter(info, name)
  const setter = info && findSetter(info, name)
  if (getter || setter) {
    const member = getter?.returns ?? setter!.parameters[0]!
    return {
      type: member,
      ...(getter && { read: (object: unknown) => getter.call(object) }),
      ...(setter && { write: (object: unknown, _key: unknown, value: unknown) => void setter.call(object, value) }),
    }
  }
  if (isMap(type)) return { type: defType, ...mapMember(name) }
  if (isList(type) && /^\d+$/.test(name)) return { type: defType, ...listMember(Number(name)) }
  throw new CompileError(at, `field [${type.name}, ${name}] not found`)
}

const mapMember = (name: string): { read: Read; write: Write } => ({
  read: (object) => getEntry(object as Map<unknown, unknown>, name),
  write: (object, _key, value) => void putEntry(object as Map<unknown, unknown>, name, value),
})

const listMember = (index: number): { read: Read; write: Write } => ({
  read: (object) => readItem(object as unknown[], index),
  write: (object, _key, value) => writeItem(object as unknown[], index, value),
})

function indexAssignable(node: ExpressionOf<'index'>, scope: Scope): Assignable {
  const compile = scope.owner.script.expression
  const target = compile(node.target, scope)
  const index = compile(node.index, scope)
  const assignable = { at: node.at, target: notNull(target, false, '[]').run }
  const { type } = target
  if (type === defType)
    return { ...assignable, type: defType, key: castTo(index, defType).run, read: readIndex, write: writeIndex }
  if (type.element) return { ...assignable, ...elementAssignable(type.element), key: castTo(index, intType).run }
  if (isMap(type))
    return {
      ...assignable,
      type: defType,
      key: castTo(index, defType).run,
      read: (map, key) => getEntry(map as Map<unknown, unknown>, key),
      write: (map, key, value) => void putEntry(map as Map<unknown, unknown>, key, value),
    }
  if (isList(type))
    return {
      ...assignable,
      type: defType,
      key: castTo(index, intType).run,
      read: (list, key) => readItem(list as unknown[], key as number),
      write: (list, key, value) => writeItem(list as unknown[], key as number, value),
    }
  throw new CompileError(node.at, `Attempting to address a non-array-like type [${type.name}] as an array.`)
}

const elementAssignable = (element: Type): { type: Type; read: Read; write: Write } => ({
  type: element,
  read: (array, index) => (array as JavaArray).items[arrayIndex(array as JavaArray, index as number)],
  write: (array, index, value) => {
    const { items, elementType } = array as JavaArray
    const elementIndex = arrayIndex(array as JavaArray, index as number)
    items[elementIndex] = elementType === element.name ? value : recast(elementType, element, value)
  },
})

/** Casts a value to the element type of an array, which may be narrower than the element type of the variable that holds the array. */
function recast(elementType: string, element: Type, value: unknown): unknown {
  const cast = castFromDef(findType(elementType)!, false) as (value: unknown) => unknown
  const box = boxerFor(element)
  return cast(box ? box(value as never) : value)
}

/** Adds the check that an object is not null before its members are used. */
export function notNull(expression: Compiled, nullSafe: boolean, member: string): Compiled {
  const { run, type } = expression
  if (nullSafe || type.primitive || type === defType || expression.constant) return expression
  return {
    ...expression,
    run: (frame) => {
      const value = run(frame)
      if (value === null) throw nullPointer(`cannot access member [${member}] of null`)
      return value
    },
  }
}

/** Builds the closure that reads a variable, field or element. */
export function readAssignable(assignable: Assignable): Run {
  const { slot, target, key, read, nullSafe, constant } = assignable
  if (constant) return () => constant.value
  if (slot !== undefined) return (frame) => frame[slot]
  if (!read || !target) throw new CompileError(assignable.at, 'This field can only be assigned.')
  if (key) return (frame) => read(target(frame), key(frame))
  if (nullSafe)
    return (frame) => {
      const object = target(frame)
      return object === null ? null : read(object, null)
    }
  return (frame) => read(target(frame), null)
}

/** Checks that the script may assign to the target. */
export function checkAssignable(assignable: Assignable, node: Expression, scope: Scope): void {
  if (node.kind === 'name') {
    if (findVariable(scope, node.name)?.readOnly)
      throw new CompileError(node.at, `invalid assignment: cannot assign a value to read-only variable [${node.name}]`)
  } else if (!assignable.write)
    throw new CompileError(node.at, 'invalid assignment: cannot assign a value to a read-only field')
}
