/** The tagged template `sql`. It creates statements and fragments of statements; values always become parameters. */
import { LRUCache } from 'lru-cache'
import { DatabaseUseError } from './errors.ts'
import { type Encoded, encode, type Json, jsonOf, oidOf, type Value } from './values.ts'

// biome-ignore lint/suspicious/noExplicitAny: stores know their columns, the compiler does not
export type Row = Record<string, any>

/** The rows of a statement. `count` is the number of rows that it found or changed. */
export type Rows<T extends readonly object[] = Row[]> = T & { count: number }

/** A statement that runs when it is awaited, or a fragment of another statement. */
export interface Pending<T extends readonly object[] = Row[]> extends Promise<Rows<T>> {
  /** Starts the statement without waiting for it. */
  execute(): this
  /** Does not keep the statement prepared on the connection. Use it for texts that are rarely repeated. */
  unprepared(): this
}

/** A fragment of a statement; it is never awaited. */
export type Fragment = Pending

/**
 * The result of `sql(…)`. The keyword before it determines its meaning: column names (`select`, `returning`), rows (`insert`), assignments
 * (`set`) or a list of values (`in`).
 */
export interface Helper {
  readonly helperValue: string | object
}

export type Parameter = Value | Fragment | Helper | readonly Fragment[]

/** The pool or an open transaction. It is the first parameter of store functions, so that the caller decides on the transaction. */
export interface Sql {
  <T extends readonly object[] = Row[]>(strings: TemplateStringsArray, ...values: readonly Parameter[]): Pending<T>
  (value: string | object): Helper
  json(value: unknown): Json
  /**
   * Runs a text of SQL, which must never contain user input. Without `values`, the text may contain several statements and runs on a
   * connection of its own.
   */
  unsafe<T extends readonly object[] = Row[]>(text: string, values?: readonly Value[]): Pending<T>
}

/** Rows for `copy … from stdin`, complete or in pieces. */
export type CopyContent = Buffer | AsyncIterable<Buffer>

/** Executes statements: a pool, or the connection of a transaction. */
export interface Runner {
  statement(statement: Statement): Promise<Rows>
  text(text: string): Promise<Rows>
  copyIn(text: string, content: () => CopyContent | Promise<CopyContent>): Promise<void>
  copyOut(text: string): AsyncIterable<Buffer>
}

/** Translates a name in JavaScript to a column name in SQL. */
export type ToColumn = (name: string) => string

/** The text of a statement with its parameter types. There is one object for each combination; it is the key of the prepared statements. */
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
  /** True for `unsafe`, where `strings` contains the whole text. */
  readonly isRawText: boolean
  isUnprepared: boolean
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
    this.isUnprepared = true
    return this
  },
}

function start(pending: PendingState): Promise<Rows> {
  const { runner, strings, values, isRawText } = pending
  if (isRawText && values.length === 0) return runner.text(strings[0]!)
  try {
    return runner.statement(compile(pending))
  } catch (error) {
    return Promise.reject(error)
  }
}

const isPending = (value: unknown): value is PendingState =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === pendingMethods

const isHelper = (value: unknown): value is Helper =>
  typeof value === 'object' && value !== null && (value as Helper).helperValue !== undefined

/** Compiles a statement. If there are no fragments and helpers, the text is cached by template, and only the values are encoded. */
function compile(pending: PendingState): Statement {
  const { values, isUnprepared } = pending
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
  return { text: withTypes(textOfTemplate(pending), oids), values: encoded, unprepared: isUnprepared }
}

const templates = new WeakMap<readonly string[], StatementText>()

function textOfTemplate({ strings, isRawText }: PendingState): StatementText {
  if (isRawText) return textOf(strings[0]!)
  let known = templates.get(strings)
  if (!known) {
    known = textOf(strings.reduce((before, part, index) => `${before}$${index}${part}`))
    templates.set(strings, known)
  }
  return known
}

const texts = new LRUCache<string, StatementText>({ max: 2000 })

function newText(text: string, oids: readonly number[] | undefined): StatementText {
  const statementText = { text, oids, others: new Map(), lastUsed: undefined as unknown as StatementText }
  statementText.lastUsed = statementText
  return statementText
}

function textOf(text: string): StatementText {
  let known = texts.get(text)
  if (!known) {
    known = newText(text, undefined)
    texts.set(text, known)
  }
  return known
}

function withTypes(text: StatementText, oids: readonly number[] | undefined): StatementText {
  if (oids === undefined) return text
  if (areSameTypes(text.lastUsed.oids, oids)) return text.lastUsed
  const key = oids.join()
  let known = text.others.get(key)
  if (!known) {
    known = newText(text.text, oids)
    text.others.set(key, known)
  }
  text.lastUsed = known
  return known
}

function areSameTypes(known: readonly number[] | undefined, oids: readonly number[]): boolean {
  if (known === undefined) return false
  for (let i = 0; i < oids.length; i++) if (known[i] !== oids[i]) return false
  return true
}

/** Builds the text and values of a statement that has fragments or helpers. */
function compose({ strings, values, toColumn, isUnprepared }: PendingState): Statement {
  const encoded: Encoded[] = []
  const oids: number[] = []
  let isTyped = false

  function addParameter(value: unknown): string {
    const oid = oidOf(value)
    if (oid !== 0) isTyped = true
    oids.push(oid)
    return `$${encoded.push(encode(value))}`
  }
  function renderFragment(part: PendingState): string {
    if (part.isRawText) return part.strings[0]!
    return renderTemplate('', part.strings, part.values)
  }
  function renderTemplate(before: string, strings: readonly string[], values: readonly unknown[]): string {
    let text = before + strings[0]!
    for (let i = 0; i < values.length; i++) text += render(text, values[i]) + strings[i + 1]!
    return text
  }
  function render(before: string, value: unknown): string {
    if (isPending(value)) return renderFragment(value)
    if (isHelper(value)) return renderHelper(before, value.helperValue)
    if (Array.isArray(value) && isPending(value[0])) return value.map(renderFragment).join(' ')
    return addParameter(value)
  }
  const renderRow = (row: Record<string, unknown>, columns: string[]) =>
    `(${columns.map((column) => render('', row[column])).join(',')})`

  function renderHelper(before: string, value: string | object): string {
    if (typeof value === 'string') return quoteIdentifier(toColumn(value))
    const keyword = lastKeyword(before)
    if (keyword === 'set') return renderAssignments(value as Record<string, unknown>)
    if (!Array.isArray(value)) return renderRows([value as Record<string, unknown>], keyword)
    if (value.length === 0) throw new DatabaseUseError('An empty list was given to sql(…)')
    if (keyword === 'insert') return renderRows(value, keyword)
    if (keyword === 'in') return `(${value.map((value) => render('', value)).join(',')})`
    return value.map((name) => quoteIdentifier(toColumn(name as string))).join(',')
  }
  function renderRows(rows: Record<string, unknown>[], keyword: string | undefined): string {
    if (keyword !== 'insert') throw new DatabaseUseError(`A row was given to sql(…) after "${keyword}"`)
    const columns = Object.keys(rows[0]!)
    const names = columns.map((column) => quoteIdentifier(toColumn(column))).join(',')
    return `(${names})values${rows.map((row) => renderRow(row, columns)).join(',')}`
  }
  const renderAssignments = (row: Record<string, unknown>) =>
    Object.keys(row)
      .map((column) => `${quoteIdentifier(toColumn(column))}=${render('', row[column])}`)
      .join(',')

  const text = renderTemplate('', strings, values)
  return { text: withTypes(textOf(text), isTyped ? oids : undefined), values: encoded, unprepared: isUnprepared }
}

const helperKeywords = /(?:^|[\s(])(insert|set|in|select|returning)(?=$|[\s(])/gi

/** Returns the keyword that determines what a helper stands for. */
function lastKeyword(before: string): string | undefined {
  let last: string | undefined
  for (const [, word] of before.matchAll(helperKeywords)) last = word!.toLowerCase()
  return last
}

/** Quotes a name. `a.b` counts as two names. */
const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""').replaceAll('.', '"."')}"`

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
  this.isRawText = whole
  this.isUnprepared = false
  this.running = undefined
}
construct.prototype = pendingMethods
const PendingOf = construct as unknown as new (...args: Parameters<typeof construct>) => PendingState

export function createSql(runner: Runner, toColumn: ToColumn): Sql {
  const sql = (first: TemplateStringsArray | string | object, ...values: unknown[]) =>
    Array.isArray(first) && 'raw' in first
      ? new PendingOf(runner, toColumn, first as readonly string[], values, false)
      : { helperValue: first }
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
