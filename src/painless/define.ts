import { readText } from './meter.ts'
import {
  allClasses,
  ancestorsOf,
  type ClassInfo,
  type Constant,
  declareClass,
  defType,
  findClass,
  findType,
  type Method,
  type Type,
  typeNamed,
  voidType,
} from './types.ts'
import { boxerOf, type JavaFunction } from './values.ts'

/** The implementation of a method. It takes the receiver, except for static methods, and the arguments. */
type Body = (...args: never[]) => unknown
export type Methods = Record<string, Body>

export interface Definition {
  supers?: string[]
  /** Constants by name. Each constant has a type, and a value in the representation of that type. */
  constants?: Record<string, [type: string, value: unknown]>
  /** Constructors by parameter list, such as `(int,String)`. */
  constructors?: Record<string, Body>
  /** Methods by signature, such as `int indexOf(String,int)` or `static int parseInt(String)`. */
  methods?: Methods
  /** Signature of the abstract method, for a functional interface. */
  functional?: string
}

const pending: (() => void)[] = []

/** Adds a class to the table of classes that scripts can use. Signatures are resolved by `finishDefinitions`. */
export function defineClass(name: string, definition: Definition): void {
  const info = declareClass(name, definition.supers ?? [])
  pending.push(() => fill(info, definition))
}

/** Resolves the signatures of all classes defined so far. */
export function finishDefinitions(): void {
  for (const task of pending.splice(0)) task()
  for (const info of allClasses()) markOverridden(info)
}

const sameShape = (one: Method, two: Method): boolean =>
  one.parameters.every((type, index) => type === two.parameters[index]) &&
  (one.returns === two.returns || (!one.returns.primitive && !two.returns.primitive))

/** Marks the inherited methods that a class overrides. */
function markOverridden(info: ClassInfo): void {
  for (const ancestor of ancestorsOf(info))
    if (ancestor !== info.name)
      for (const [key, method] of info.methods) {
        const replaced = findClass(ancestor)?.methods.get(key)
        if (replaced && sameShape(replaced, method)) replaced.overridden = true
      }
}

const signaturePattern = /^(static )?([\w.[\]]+) (\w+)\(([^)]*)\)$/

function fill(info: ClassInfo, definition: Definition): void {
  for (const [name, [type, value]] of Object.entries(definition.constants ?? {}))
    info.constants.set(name, { type: typeNamed(type), value } satisfies Constant)
  for (const [text, body] of Object.entries(definition.constructors ?? {})) {
    const parameters = parametersOf(text.slice(1, -1), info)
    const short = info.name.replace(/^(?:[a-z0-9]+\.)+/, '')
    info.constructors.set(parameters.length, {
      name: 'new',
      owner: info,
      isStatic: true,
      parameters,
      returns: typeNamed(info.name),
      call: body as JavaFunction,
      signature: `${short}${text}`,
    })
  }
  for (const [text, body] of Object.entries(definition.methods ?? {})) {
    const parsed = parseMethod(text, info, body as JavaFunction)
    const method = isText.test(info.name) && !parsed.isStatic && !cheap.has(parsed.name) ? metered(parsed) : parsed
    const table = method.isStatic ? info.statics : info.methods
    table.set(`${method.name}/${method.parameters.length}`, method)
  }
  if (definition.functional !== undefined) {
    const method = functionalOf(definition.functional, info)
    info.functional = method
    info.methods.set(`${method.name}/${method.parameters.length}`, method)
  }
}

const isText = /^java\.lang\.(?:String|CharSequence|StringBuilder|StringBuffer)$/
/** Methods of texts whose cost does not grow with the length of the text. */
const cheap = new Set(['append', 'capacity', 'charAt', 'codePointAt', 'isEmpty', 'length', 'setLength', 'toString'])

const lengthOf = (value: unknown): number => {
  if (typeof value === 'string') return value.length
  const builder = (value as { value?: unknown } | null)?.value
  return typeof builder === 'string' ? builder.length : 0
}

/** Returns a method that first counts the work of reading its texts: the receiver and the first argument. */
function metered(method: Method): Method {
  const { call } = method
  return {
    ...method,
    call: (self, first, ...rest) => {
      readText(lengthOf(self) + lengthOf(first))
      return call(self, first, ...rest)
    },
  }
}

function parseMethod(text: string, info: ClassInfo, call: JavaFunction): Method {
  const match = signaturePattern.exec(text)
  if (!match) throw new Error(`${info.name}: cannot read the signature ${text}`)
  return {
    name: match[3]!,
    owner: info,
    isStatic: match[1] !== undefined,
    parameters: parametersOf(match[4]!, info),
    returns: resolve(match[2]!, info),
    call,
    signature: text,
  }
}

const resolve = (name: string, info: ClassInfo): Type => {
  const type = findType(name)
  if (!type) throw new Error(`${info.name}: no type ${name}`)
  return type
}

const parametersOf = (text: string, info: ClassInfo): Type[] =>
  text === '' ? [] : text.split(',').map((name) => resolve(name.trim(), info))

/** Builds the method that calls a lambda. Lambdas take and return references. */
function functionalOf(text: string, info: ClassInfo): Method {
  const method = parseMethod(text, info, () => undefined)
  const boxers = method.parameters.map((type) => (type.primitive ? boxerOf(type.name) : undefined)) as (
    | ((value: unknown) => unknown)
    | undefined
  )[]
  const plain = boxers.every((boxer) => boxer === undefined)
  const call = (receiver: unknown, ...args: unknown[]) =>
    plain
      ? (receiver as JavaFunction)(...args)
      : (receiver as JavaFunction)(...args.map((arg, index) => boxers[index]?.(arg) ?? arg))
  return { ...method, call: wrapResult(method.returns, call) }
}

/** Returns `call` with a conversion of its result: a lambda returns a reference, but a primitive result type needs the number inside it. */
function wrapResult(type: Type, call: JavaFunction): JavaFunction {
  if (!type.primitive || type === voidType || type === defType) return call
  const unbox = unboxers[type.name]
  return unbox ? (...args) => unbox(call(...args)) : call
}

const unboxers: Record<string, (value: unknown) => unknown> = {
  float: (value) => (typeof value === 'object' && value !== null ? (value as { value: number }).value : value),
  double: (value) => (typeof value === 'object' && value !== null ? (value as { value: number }).value : value),
  byte: (value) => (typeof value === 'object' && value !== null ? (value as { value: number }).value : value),
  short: (value) => (typeof value === 'object' && value !== null ? (value as { value: number }).value : value),
  char: (value) => (typeof value === 'object' && value !== null ? (value as { value: number }).value : value),
}
