import { castFromDef } from './casts.ts'
import { changeList, getEntry, putEntry, sortedItems } from './collections.ts'
import { classCast, illegalArgument, JavaThrow, nullPointer } from './errors.ts'
import { step } from './meter.ts'
import { type ClassInfo, findClass, findMethod, functionalMethod, type Method, type Type, typeNamed } from './types.ts'
import { boxerOf, isJavaArray, type JavaArray, type JavaFunction, javaClassOf } from './values.ts'

/** A lambda or method reference whose interface is known only when the called method is found. */
export interface LateFunction {
  late: (method: Method, type: Type) => JavaFunction
}

const isLate = (value: unknown): value is LateFunction => typeof value === 'object' && value !== null && 'late' in value

/** Returns the class of a reference. Arrays have only the methods of Object. */
export function classOfValue(value: unknown): ClassInfo {
  return findClass(javaClassOf(value)) ?? findClass('java.lang.Object')!
}

function prepare(method: Method): void {
  const casts = method.parameters.map((type) => castFromDef(type, false)) as ((value: unknown) => unknown)[]
  method.casts = method.parameters.every((type) => type.name === 'def' || type.name === 'java.lang.Object')
    ? null
    : casts
  method.boxResult = method.returns.primitive ? boxerOf(method.returns.name) : undefined
}

/** Calls a method with references and returns a reference. */
export function callMethod(method: Method, receiver: unknown, args: unknown[]): unknown {
  if (method.casts === undefined) prepare(method)
  const raw = method.casts ? args.map((arg, index) => castArgument(method, arg, index)) : args
  const result = method.isStatic ? method.call(...raw) : method.call(receiver, ...raw)
  if (result === undefined) return null
  return method.boxResult ? method.boxResult(result as never) : result
}

function castArgument(method: Method, arg: unknown, index: number): unknown {
  if (!isLate(arg)) {
    if (typeof arg === 'string' && method.parameters[index]!.primitive)
      throw wrongType(arg, method.parameters[index]!.name)
    return method.casts![index]!(arg)
  }
  const type = method.parameters[index]!
  const target = functionalMethod(type)
  if (!target)
    throw illegalArgument(
      `cannot convert function reference to a non-functional interface [${type.name}] of method [${method.owner.name}, ${method.name}/${method.parameters.length}]`,
    )
  return arg.late(target, type)
}

/** Returns a function that calls a method by name. It caches the method that it found for the class of the last receiver. */
export function dynamicCall(name: string, arity: number): (receiver: unknown, args: unknown[]) => unknown {
  let lastClass: string | undefined
  let lastMethod: Method | undefined
  return (receiver, args) => {
    step()
    if (receiver === null) throw nullPointer(`cannot access method/field [${name}] from a null def reference`)
    const className = javaClassOf(receiver)
    if (className !== lastClass) {
      lastMethod = findDynamic(receiver, name, arity)
      lastClass = className
    }
    return callMethod(lastMethod!, receiver, args)
  }
}

function findDynamic(receiver: unknown, name: string, arity: number): Method {
  const info = classOfValue(receiver)
  const method = findMethod(info, name, arity)
  if (method) return method
  throw illegalArgument(`dynamic method [${javaClassOf(receiver)}, ${name}/${arity}] not found`)
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

export const findGetter = (info: ClassInfo, name: string): Method | undefined =>
  findMethod(info, `get${capital(name)}`, 0) ?? findMethod(info, `is${capital(name)}`, 0)
export const findSetter = (info: ClassInfo, name: string): Method | undefined =>
  findMethod(info, `set${capital(name)}`, 1)

const mapGetters = new Set(['empty'])

/** Reads `target.name` of a reference: a getter, a key of a map, an index of a list, or the length of an array. */
export function readField(target: unknown, name: string): unknown {
  if (target instanceof Map && !mapGetters.has(name)) return getEntry(target, name)
  if (target === null) throw nullPointer(`cannot access method/field [${name}] from a null def reference`)
  const getter = isJavaArray(target) ? undefined : findGetter(classOfValue(target), name)
  if (getter) return callMethod(getter, target, [])
  if (Array.isArray(target)) return readItem(target, indexFrom(name))
  if (isJavaArray(target) && name === 'length') return target.items.length
  throw illegalArgument(`dynamic getter [${javaClassOf(target)}, ${name}] not found`)
}

function indexFrom(name: string): number {
  if (!/^\d+$/.test(name)) throw illegalArgument(`Illegal list shortcut value [${name}].`)
  return Number(name)
}

export function writeField(target: unknown, name: string, value: unknown): void {
  if (target === null) throw nullPointer(`cannot access method/field [${name}] from a null def reference`)
  if (target instanceof Map) {
    putEntry(target, name, value)
    return
  }
  const setter = isJavaArray(target) ? undefined : findSetter(classOfValue(target), name)
  if (setter) callMethod(setter, target, [value])
  else if (Array.isArray(target)) writeItem(target, indexFrom(name), value)
  else throw illegalArgument(`dynamic setter [${javaClassOf(target)}, ${name}] not found`)
}

/** Returns an index within the length. A negative index counts from the end. */
export function checkedIndex(index: number, length: number, javaClass: string): number {
  const fromStart = index < 0 ? index + length : index
  if (fromStart >= 0 && fromStart < length) return fromStart
  throw new JavaThrow(`java.lang.${javaClass}`, `Index ${index} out of bounds for length ${length}`)
}

export const readItem = (list: unknown[], index: number): unknown =>
  list[checkedIndex(index, list.length, 'IndexOutOfBoundsException')]

export function writeItem(list: unknown[], index: number, value: unknown): void {
  changeList(list)
  list[checkedIndex(index, list.length, 'IndexOutOfBoundsException')] = value
}

/** Creates the error for a text in place of a number. For other wrong types, a ClassCastException is thrown. */
const wrongType = (value: unknown, type: string): JavaThrow =>
  new JavaThrow(
    'java.lang.invoke.WrongMethodTypeException',
    `cannot convert a value of type [${javaClassOf(value)}] to [${type}]`,
  )

const castIndex = castFromDef(typeNamed('int'), false) as (value: unknown) => number
const toIndex = (index: unknown): number => {
  if (typeof index === 'string') throw wrongType(index, 'int')
  return castIndex(index)
}

/** Reads `target[index]` of a reference: a map, a list or an array. */
export function readIndex(target: unknown, index: unknown): unknown {
  if (target instanceof Map) return getEntry(target, index)
  if (Array.isArray(target)) return readItem(target, toIndex(index))
  if (isJavaArray(target)) return boxElement(target, target.items[arrayIndex(target, toIndex(index))])
  throw notIndexable(target)
}

export function writeIndex(target: unknown, index: unknown, value: unknown): void {
  if (target instanceof Map) putEntry(target, index, value)
  else if (Array.isArray(target)) writeItem(target, toIndex(index), value)
  else if (isJavaArray(target)) {
    const cast = castFromDef(typeNamed(target.elementType), false) as (value: unknown) => unknown
    target.items[arrayIndex(target, toIndex(index))] = cast(value)
  } else throw notIndexable(target)
}

export const arrayIndex = (array: JavaArray, index: number): number =>
  checkedIndex(index, array.items.length, 'ArrayIndexOutOfBoundsException')

export function boxElement(array: JavaArray, value: unknown): unknown {
  const boxer = boxerOf(array.elementType)
  return boxer ? boxer(value as never) : value
}

const notIndexable = (target: unknown) =>
  target === null
    ? nullPointer('cannot access an element of a null def reference')
    : illegalArgument(`Attempting to address a non-array-like type [${javaClassOf(target)}] as an array.`)

/** Returns the elements that `for (x in target)` visits. */
export function iterationOf(target: unknown): unknown[] | Iterable<unknown> {
  if (Array.isArray(target)) return target
  if (target === null) throw nullPointer('cannot iterate over a null def reference')
  if (isJavaArray(target)) return target.items.map((item) => boxElement(target, item))
  if (target instanceof Set) return sortedItems(target)
  const iterateItems = (target as { iterate?: () => Iterable<unknown> }).iterate
  if (iterateItems) return iterateItems.call(target)
  if (target instanceof Map || typeof target !== 'object')
    throw illegalArgument(`Cannot iterate over [${javaClassOf(target)}]`)
  throw classCast(`Cannot iterate over [${javaClassOf(target)}]`)
}
