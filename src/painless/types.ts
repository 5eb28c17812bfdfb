import type { NumberKind } from './values.ts'

/** A type of the language. Equal types are the same object. */
export interface Type {
  /** Canonical name: `int`, `def`, `java.util.List`, `int[]`. */
  readonly name: string
  readonly primitive: boolean
  /** Element type, for an array. */
  readonly element?: Type
  /** Class of a reference type that is neither an array nor `def`. */
  readonly info?: ClassInfo
}

/** A method, a constructor, or the single method of a functional interface. */
export interface Method {
  readonly name: string
  readonly owner: ClassInfo
  readonly isStatic: boolean
  readonly parameters: Type[]
  readonly returns: Type
  /** Runs the method. Takes the receiver (except for static methods) and the arguments, already converted to the declared types. */
  readonly call: (...args: unknown[]) => unknown
  readonly signature: string
  /** True if a subclass overrides the method, so that a call must look up the method by the class of the object. */
  overridden?: boolean
  /** Set by `dynamic.ts`: functions that convert references to arguments (null if none is needed), and the result to a reference. */
  casts?: ((value: unknown) => unknown)[] | null
  boxResult?: ((value: never) => unknown) | undefined
}

export interface Constant {
  readonly type: Type
  readonly value: unknown
}

export interface ClassInfo {
  readonly name: string
  readonly supers: string[]
  readonly constructors: Map<number, Method>
  /** Methods that the class itself declares, by `name/arity`. Inherited methods are not included. */
  readonly methods: Map<string, Method>
  readonly statics: Map<string, Method>
  readonly constants: Map<string, Constant>
  /** The one abstract method of a functional interface. */
  functional?: Method
  /** The methods, including inherited methods. Built at first use. */
  allMethods?: Map<string, Method>
  /** Names of the class and its ancestors. Built at first use. */
  ancestors?: Set<string>
}

const types = new Map<string, Type>()
const classes = new Map<string, ClassInfo>()
/** Names without package, including nested names such as `Map.Entry`. */
const shortNames = new Map<string, string>()

const primitive = (name: string): Type => {
  const type = { name, primitive: true }
  types.set(name, type)
  return type
}

export const booleanType = primitive('boolean')
export const byteType = primitive('byte')
export const shortType = primitive('short')
export const charType = primitive('char')
export const intType = primitive('int')
export const longType = primitive('long')
export const floatType = primitive('float')
export const doubleType = primitive('double')
export const voidType = primitive('void')
export const defType: Type = { name: 'def', primitive: false }
types.set('def', defType)

export function arrayOf(element: Type): Type {
  const name = `${element.name}[]`
  const known = types.get(name)
  if (known) return known
  const type: Type = { name, primitive: false, element }
  types.set(name, type)
  return type
}

/** Returns the type with this name, which may be short or full and may have `[]`. Returns undefined if there is no such type. */
export function findType(name: string): Type | undefined {
  if (name.endsWith('[]')) {
    const element = findType(name.slice(0, -2))
    return element && arrayOf(element)
  }
  const found = types.get(name)
  if (found) return found
  const full = shortNames.get(name)
  return full === undefined ? undefined : types.get(full)
}

export function typeNamed(name: string): Type {
  const type = findType(name)
  if (!type) throw new Error(`no type ${name}`)
  return type
}

export const findClass = (name: string): ClassInfo | undefined => classes.get(name)
export const allClasses = (): ClassInfo[] => [...classes.values()]

/** Registers a class name, so that signatures of classes that are defined earlier can refer to it. */
export function declareClass(name: string, supers: string[]): ClassInfo {
  const existing = classes.get(name)
  if (existing) return existing
  const info: ClassInfo = {
    name,
    supers,
    constructors: new Map(),
    methods: new Map(),
    statics: new Map(),
    constants: new Map(),
  }
  classes.set(name, info)
  types.set(name, { name, primitive: false, info })
  shortNames.set(name.replace(/^(?:[a-z0-9]+\.)+/, ''), name)
  return info
}

/** Returns the names of the class and its ancestors, in the order in which methods are looked up. */
export function ancestorsOf(info: ClassInfo): Set<string> {
  if (info.ancestors) return info.ancestors
  const found = new Set([info.name])
  for (const name of info.supers)
    for (const ancestor of ancestorsOf(classes.get(name) ?? missing(info, name))) found.add(ancestor)
  found.add('java.lang.Object')
  info.ancestors = found
  return found
}

function missing(info: ClassInfo, name: string): never {
  throw new Error(`${info.name} extends ${name}, which is not defined`)
}

/** Returns all methods that can be called on an object of this class. */
export function methodsOf(info: ClassInfo): Map<string, Method> {
  if (info.allMethods) return info.allMethods
  const all = new Map<string, Method>()
  for (const name of ancestorsOf(info))
    for (const [key, method] of classes.get(name)?.methods ?? []) if (!all.has(key)) all.set(key, method)
  info.allMethods = all
  return all
}

export const findMethod = (info: ClassInfo, name: string, arity: number): Method | undefined =>
  methodsOf(info).get(`${name}/${arity}`)

/** Returns the method that a lambda must implement to have this type. */
export function functionalMethod(type: Type): Method | undefined {
  if (!type.info) return undefined
  for (const name of ancestorsOf(type.info)) {
    const method = classes.get(name)?.functional
    if (method) return method
  }
  return undefined
}

export const isSubclass = (name: string, ancestor: string): boolean => {
  if (name === ancestor || ancestor === 'java.lang.Object') return true
  const info = classes.get(name)
  return info !== undefined && ancestorsOf(info).has(ancestor)
}

const objectType = (): Type => types.get('java.lang.Object')!

/** Returns whether every value of type `from` is also a value of type `to`. Both types are reference types. */
export function isAssignable(to: Type, from: Type): boolean {
  if (to === from || to === objectType()) return true
  if (to.element && from.element && !to.element.primitive && !from.element.primitive)
    return to.element === defType || isAssignable(to.element, from.element)
  return to.info !== undefined && from.info !== undefined && isSubclass(from.info.name, to.info.name)
}

const boxNames: Record<string, string> = {
  boolean: 'java.lang.Boolean',
  byte: 'java.lang.Byte',
  short: 'java.lang.Short',
  char: 'java.lang.Character',
  int: 'java.lang.Integer',
  long: 'java.lang.Long',
  float: 'java.lang.Float',
  double: 'java.lang.Double',
}
const unboxNames = new Map(Object.entries(boxNames).map(([name, box]) => [box, name]))

/** Returns the class that boxes values of a primitive type. For any other type, returns the type itself. */
export const boxedType = (type: Type): Type =>
  type.primitive && type !== voidType ? typeNamed(boxNames[type.name]!) : type

/** Returns the primitive type that a class such as Integer boxes. */
export const unboxedType = (type: Type): Type | undefined => {
  const name = unboxNames.get(type.name)
  return name === undefined ? undefined : types.get(name)
}

export const isNumeric = (type: Type): boolean => type.primitive && type !== booleanType && type !== voidType

export const numericKind = (type: Type): NumberKind => type.name as NumberKind
