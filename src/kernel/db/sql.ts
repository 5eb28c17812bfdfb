/** The tagged template `sql`: statements and fragments of statements, whose values are always parameters. */
import { LRUCache } from 'lru-cache'
import { DatabaseUseError } from './errors.ts'
import { type Encoded, encode, type Json, jsonOf, oidOf, type Value } from './values.ts'

// biome-ignore lint/suspicious/noExplicitAny: stores know their columns, the compiler does not
export type Row = Record<string, any>

/** The rows of a statement; `count` is how many it found or changed. */
export type Rows<T extends readonly object[] = Row[]> = T & { count: number }

/** A statement that runs when it is awaited, or a fragment of another statement. */
export interface Pending<T extends readonly object[] = Row[]> extends Promise<Rows<T>> {
  /** Starts the statement without waiting for it. */
  execute(): this
  /** For texts that are rarely repeated: the statement is not kept prepared on the connection. */
  unprepared(): this
}

/** A fragment of a statement; it is never awaited. */
export type Fragment = Pending

/**
 * Made by `sql(…)`. The keyword before it decides what it becomes: column names (`select`, `returning`), rows (`insert`),
 * assignments (`set`) or a list of values (`in`).
 */
export interface Helper {
  readonly given: string | object
}

export type Parameter = Value | Fragment | Helper | readonly Fragment[]

/** The pool or an open transaction. Store functions take it first, so that the caller decides on the transaction. */
export interface Sql {
  <T extends readonly object[] = Row[]>(strings: TemplateStringsArray, ...values: readonly Parameter[]): Pending<T>
  (given: string | object): Helper
  json(value: unknown): Json
  /** Runs SQL text of our own, never user input. Without `values` it may contain several statements, on its own connection. */
  unsafe<T extends readonly object[] = Row[]>(text: string, values?: readonly Value[]): Pending<T>
}

/** Rows for `copy … from stdin`: complete, or in pieces. */
export type CopyContent = Buffer | AsyncIterable<Buffer>

/** Executes statements: a pool, or the connection of a transaction. */
export interface Runner {
  statement(given: Statement): Promise<Rows>
  text(text: string): Promise<Rows>
  copyIn(text: string, content: () => CopyContent | Promise<CopyContent>): Promise<void>
  copyOut(text: string): AsyncIterable<Buffer>
}

/** Translates a name in JavaScript to a column name in SQL. */
export type ToColumn = (name: string) => string

/** A text with the parameter types that are passed to PostgreSQL; one object for each combination. */
export interface StatementText {
  readonly text: string
  /** Undefined if PostgreSQL infers all types. */
  readonly oids: readonly number[] | undefined
  /** The same text with other parameter types. */
  readonly others: Map<string, StatementText>
  lastUsed: StatementText
}

export interface Statement {
  readonly text: StatementText
  readonly values: Encoded[]
  readonly unprepared: boolean
}

interface PendingState {
  readonly runner: Runner
  readonly toColumn: ToColumn
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  /** True for `unsafe`, where `strings` has the whole text. */
  readonly whole: boolean
  once: boolean
  running: Promise<Rows> | undefined
}

const pendingMethods = {
  // biome-ignore lint/suspicious/noThenProperty: a statement runs when it is awaited
  then(this: PendingState, done: never, failed: never) {
    this.running ??= start(this)
    return this.running.then(done, failed)
  },
  catch(this: PendingState, failed: never) {
    this.running ??= start(this)
    return this.running.catch(failed)
  },
  finally(this: PendingState, effect: never) {
    this.running ??= start(this)
    return this.running.finally(effect)
  },
  execute(this: PendingState) {
    this.running ??= start(this)
    return this
  },
  unprepared(this: PendingState) {
    this.once = true
    return this
  },
}

function start(pending: PendingState): Promise<Rows> {
  const { runner, strings, values, whole } = pending
  if (whole && values.length === 0) return runner.text(strings[0]!)
  try {
    return runner.statement(compile(pending))
  } catch (error) {
    return Promise.reject(error)
  }
}

const isPending = (value: unknown): value is PendingState =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === pendingMethods

const isHelper = (value: unknown): value is Helper =>
  typeof value === 'object' && value !== null && (value as Helper).given !== undefined

/** Compiles a statement. Without fragments and helpers, the text is cached by template and only the values are encoded. */
function compile(pending: PendingState): Statement {
  const { values, once } = pending
  const encoded: Encoded[] = new Array(values.length)
  let oids: number[] | undefined
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'object' && value !== null) {
      if (isPending(value) || isHelper(value) || (Array.isArray(value) && isPending(value[0]))) return compose(pending)
    }
    const oid = oidOf(value)
    if (oid !== 0) {
      oids ??= new Array(values.length).fill(0)
      oids[i] = oid
    }
    encoded[i] = encode(value)
  }
  return { text: typed(textOfTemplate(pending), oids), values: encoded, unprepared: once }
}

const templates = new WeakMap<readonly string[], StatementText>()

function textOfTemplate({ strings, whole }: PendingState): StatementText {
  if (whole) return textOf(strings[0]!)
  let known = templates.get(strings)
  if (!known) {
    known = textOf(strings.reduce((before, part, index) => `${before}$${index}${part}`))
    templates.set(strings, known)
  }
  return known
}

const texts = new LRUCache<string, StatementText>({ max: 2000 })

function newText(text: string, oids: readonly number[] | undefined): StatementText {
  const made = { text, oids, others: new Map(), lastUsed: undefined as unknown as StatementText }
  made.lastUsed = made
  return made
}

function textOf(text: string): StatementText {
  let known = texts.get(text)
  if (!known) {
    known = newText(text, undefined)
    texts.set(text, known)
  }
  return known
}

function typed(text: StatementText, oids: readonly number[] | undefined): StatementText {
  if (oids === undefined) return text
  if (isSame(text.lastUsed.oids, oids)) return text.lastUsed
  const key = oids.join()
  let known = text.others.get(key)
  if (!known) {
    known = newText(text.text, oids)
    text.others.set(key, known)
  }
  text.lastUsed = known
  return known
}

function isSame(some: readonly number[] | undefined, others: readonly number[]): boolean {
  if (some === undefined) return false
  for (let i = 0; i < others.length; i++) if (some[i] !== others[i]) return false
  return true
}

/** Builds the text and values of a statement that has fragments or helpers. */
function compose({ strings, values, toColumn, once }: PendingState): Statement {
  const encoded: Encoded[] = []
  const oids: number[] = []
  let isTyped = false

  function parameter(value: unknown): string {
    const oid = oidOf(value)
    if (oid !== 0) isTyped = true
    oids.push(oid)
    return `$${encoded.push(encode(value))}`
  }
  function fragment(part: PendingState): string {
    if (part.whole) return part.strings[0]!
    return joined('', part.strings, part.values)
  }
  function joined(before: string, strings: readonly string[], values: readonly unknown[]): string {
    let text = before + strings[0]!
    for (let i = 0; i < values.length; i++) text += piece(text, values[i]) + strings[i + 1]!
    return text
  }
  function piece(before: string, value: unknown): string {
    if (isPending(value)) return fragment(value)
    if (isHelper(value)) return helperText(before, value.given)
    if (Array.isArray(value) && isPending(value[0])) return value.map(fragment).join(' ')
    return parameter(value)
  }
  const rowText = (row: Record<string, unknown>, columns: string[]) =>
    `(${columns.map((column) => piece('', row[column])).join(',')})`

  function helperText(before: string, given: string | object): string {
    if (typeof given === 'string') return identifier(toColumn(given))
    const word = lastWord(before)
    if (word === 'set') return assignments(given as Record<string, unknown>)
    if (!Array.isArray(given)) return insertion([given as Record<string, unknown>], word)
    if (given.length === 0) throw new DatabaseUseError('An empty list was given to sql(…)')
    if (word === 'insert') return insertion(given, word)
    if (word === 'in') return `(${given.map((value) => piece('', value)).join(',')})`
    return given.map((name) => identifier(toColumn(name as string))).join(',')
  }
  function insertion(rows: Record<string, unknown>[], word: string | undefined): string {
    if (word !== 'insert') throw new DatabaseUseError(`A row was given to sql(…) after "${word}"`)
    const columns = Object.keys(rows[0]!)
    const names = columns.map((column) => identifier(toColumn(column))).join(',')
    return `(${names})values${rows.map((row) => rowText(row, columns)).join(',')}`
  }
  const assignments = (row: Record<string, unknown>) =>
    Object.keys(row)
      .map((column) => `${identifier(toColumn(column))}=${piece('', row[column])}`)
      .join(',')

  const text = joined('', strings, values)
  return { text: typed(textOf(text), isTyped ? oids : undefined), values: encoded, unprepared: once }
}

const words = /(?:^|[\s(])(insert|set|in|select|returning)(?=$|[\s(])/gi

/** Returns the keyword that determines what a helper stands for. */
function lastWord(before: string): string | undefined {
  let last: string | undefined
  for (const [, word] of before.matchAll(words)) last = word!.toLowerCase()
  return last
}

/** Quotes a name; `a.b` is two names. */
const identifier = (name: string) => `"${name.replaceAll('"', '""').replaceAll('.', '"."')}"`

/** Constructs a pending statement; an object literal with `__proto__` takes ten times as long. */
function construct(
  this: { -readonly [K in keyof PendingState]: PendingState[K] },
  runner: Runner,
  toColumn: ToColumn,
  strings: readonly string[],
  values: readonly unknown[],
  whole: boolean,
) {
  this.runner = runner
  this.toColumn = toColumn
  this.strings = strings
  this.values = values
  this.whole = whole
  this.once = false
  this.running = undefined
}
construct.prototype = pendingMethods
const PendingOf = construct as unknown as new (...given: Parameters<typeof construct>) => PendingState

export function createSql(runner: Runner, toColumn: ToColumn): Sql {
  const sql = (first: TemplateStringsArray | string | object, ...values: unknown[]) =>
    Array.isArray(first) && 'raw' in first
      ? new PendingOf(runner, toColumn, first as readonly string[], values, false)
      : { given: first }
  return Object.assign(sql, {
    json: jsonOf,
    unsafe: (text: string, values: readonly unknown[] = []) => new PendingOf(runner, toColumn, [text], values, true),
  }) as unknown as Sql
}

/** Returns a statement without parameters. */
export const statementOf = (text: string): Statement => ({ text: textOf(text), values: [], unprepared: false })

/** Returns the runner and the text of `sql.unsafe(…)`, for COPY. */
export function copyQuery(query: Pending): { runner: Runner; text: string } {
  const { runner, strings } = query as unknown as PendingState
  return { runner, text: strings[0]! }
}
