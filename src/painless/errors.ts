/** An exception of the language. Scripts and the classes that they use throw it, and `try` can catch it. */
export class JavaThrow extends Error {
  /** Full Java name, for example `java.lang.IllegalArgumentException`. */
  readonly javaClass: string
  /** True for errors that `catch (Exception e)` must not catch: an exceeded limit, and `Debug.explain`. */
  readonly fatal: boolean
  /** False for an exception without a message, which Java prints as `null`. */
  readonly hasMessage: boolean

  constructor(javaClass: string, message: string | null, fatal = false) {
    super(message ?? '')
    this.javaClass = javaClass
    this.fatal = fatal
    this.hasMessage = message !== null
  }
}

/** A mistake found while a script is compiled. */
export class CompileError extends Error {
  readonly javaClass: string
  readonly offset: number

  constructor(offset: number, message: string, javaClass = 'java.lang.IllegalArgumentException') {
    super(message)
    this.offset = offset
    this.javaClass = javaClass
  }
}

/** The failure of a script, with the same fields as the search engine's `script_exception`. */
export class ScriptError extends Error {
  readonly phase: 'compile error' | 'runtime error'
  readonly javaClass: string
  readonly line: number
  readonly column: number
  readonly offset: number
  /** The part of the source around the mistake, followed by a line with a marker. */
  readonly excerpt: string[]

  constructor(phase: ScriptError['phase'], javaClass: string, message: string, source: string, offset: number) {
    super(message)
    this.phase = phase
    this.javaClass = javaClass
    this.offset = Math.max(0, Math.min(offset, source.length))
    const before = source.slice(0, this.offset)
    this.line = before.split('\n').length
    this.column = this.offset - before.lastIndexOf('\n')
    this.excerpt = excerptAt(source, this.offset)
  }
}

function excerptAt(source: string, offset: number): string[] {
  const start = Math.max(source.lastIndexOf('\n', offset - 1) + 1, offset - 25)
  const lineEnd = source.indexOf('\n', offset)
  const end = Math.min(lineEnd < 0 ? source.length : lineEnd, offset + 25)
  const head = start > 0 ? '... ' : ''
  const text = head + source.slice(start, end) + (end < source.length ? ' ...' : '')
  return [text, ' '.repeat(head.length + offset - start) + '^---- HERE']
}

export const illegalArgument = (message: string): JavaThrow =>
  new JavaThrow('java.lang.IllegalArgumentException', message)
export const classCast = (message: string): JavaThrow => new JavaThrow('java.lang.ClassCastException', message)
export const nullPointer = (message: string): JavaThrow => new JavaThrow('java.lang.NullPointerException', message)
export const unsupported = (message = 'the value is read-only'): JavaThrow =>
  new JavaThrow('java.lang.UnsupportedOperationException', message)
export const indexOutOfBounds = (index: number, length: number): JavaThrow =>
  new JavaThrow('java.lang.IndexOutOfBoundsException', `Index ${index} out of bounds for length ${length}`)

/** Converts an error of the host to an exception of the language. Returns undefined for an error that a script did not cause. */
export function asJavaThrow(error: unknown): JavaThrow | undefined {
  if (error instanceof JavaThrow) return error
  if (error instanceof TypeError) return nullPointer('a method was called with null or with a value that it cannot use')
  if (!(error instanceof RangeError)) return undefined
  if (/call stack/.test(error.message))
    return new JavaThrow('java.lang.StackOverflowError', 'Too many calls are open.', true)
  return /string length|allocation|array length/i.test(error.message)
    ? new JavaThrow('java.lang.OutOfMemoryError', 'A value is too large.', true)
    : illegalArgument('a method was called with a number out of its range')
}

/** Returns the error type in the notation of the search engine: `illegal_argument_exception`. */
export function errorType(javaClass: string): string {
  const name = javaClass.slice(javaClass.lastIndexOf('.') + 1)
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
}
