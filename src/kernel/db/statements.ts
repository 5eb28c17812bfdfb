/** Runs prepared statements, and texts without parameters. */
import { isStalePlan } from './errors.ts'
import type { Link } from './link.ts'
import type { Field, PreparedStatement } from './prepared.ts'
import { type Answer, baseMethods, constructorOf, countOf, fail, type QueryState, settle, succeed } from './query.ts'
import type { RowOf } from './rows.ts'
import type { Row, Rows, Statement } from './sql.ts'

interface PreparedQuery extends QueryState<Rows> {
  statement: Statement
  prepared: PreparedStatement | undefined
  /** The statements that this query prepares. They are dropped if the query fails. */
  parsed: PreparedStatement[]
  rowOf: RowOf | undefined
  /** Not named `rows`, because `pg` reads a property `rows` as its own option. */
  found: Row[]
  count: number
  /** A statement that is sent first in the same message, such as `begin`. If it fails, the statement after it is not executed. */
  opening: Statement | undefined
  unansweredOpenings: number
  retry: ((statement: Statement, answer: Answer<Rows>) => void) | undefined
}

/** Sends a statement without Sync. The result `isNew` is true if this call prepares it. */
export function prepareAndBind(
  { prepared, messages }: Link,
  statement: Statement,
  describe: boolean,
): { prepared: PreparedStatement | undefined; isNew: boolean } {
  let known = statement.unprepared ? undefined : prepared.find(statement.text)
  let isNew = false
  if (!known && !statement.unprepared) {
    known = prepared.add(statement.text)
    isNew = true
    for (const name of prepared.takeNamesToClose()) messages.closeStatement(name)
    messages.parse(known.name, statement.text.text, statement.text.oids)
  } else if (!known) messages.parse('', statement.text.text, statement.text.oids)
  messages.bind(known?.name ?? '', statement.values)
  if (describe && known?.rowOf === undefined) messages.describePortal()
  messages.execute()
  return { prepared: known, isNew }
}

const preparedMethods = {
  ...baseMethods,
  submit(this: PreparedQuery) {
    if (this.opening) {
      this.unansweredOpenings = 1
      const opening = prepareAndBind(this.link, this.opening, false)
      if (opening.isNew) this.parsed.push(opening.prepared!)
    }
    const { prepared, isNew } = prepareAndBind(this.link, this.statement, true)
    this.prepared = prepared
    if (isNew) this.parsed.push(prepared!)
    this.rowOf = this.prepared?.rowOf
    this.link.messages.sync()
    return null
  },
  handleRowDescription(this: PreparedQuery, { fields }: { fields: Field[] }) {
    this.rowOf = this.link.prepared.describe(fields)
    if (this.prepared) this.prepared.rowOf = this.rowOf
  },
  handleDataRow(this: PreparedQuery, { fields }: { fields: (string | null)[] }) {
    this.found.push(this.rowOf!(fields))
  },
  handleCommandComplete(this: PreparedQuery, { text }: { text: string }) {
    if (this.unansweredOpenings > 0) this.unansweredOpenings--
    else this.count = countOf(text)
  },
  handleReadyForQuery(this: PreparedQuery) {
    if (this.settled) return
    const rows = this.found as Rows
    rows.count = this.count
    succeed(this, rows)
  },
  handleError(this: PreparedQuery, error: Error) {
    if (this.settled) return
    const { prepared } = this.link
    for (const statement of this.parsed) prepared.remove(statement)
    if (isStalePlan(error)) {
      if (this.prepared && !this.parsed.includes(this.prepared)) prepared.remove(this.prepared)
      if (this.retry) {
        settle(this as never)
        this.retry(this.statement, this.answer)
        this.link.onAnswer()
        return
      }
    }
    fail(this as never, error)
  },
}

export interface StatementOptions {
  opening?: Statement
  /** Called to run the statement once more if its plan was stale. */
  retry?: (statement: Statement, answer: Answer<Rows>) => void
}

const PreparedQueryOf = constructorOf(function (
  this: PreparedQuery,
  link: Link,
  answer: Answer<Rows>,
  statement: Statement,
  options: StatementOptions | undefined,
) {
  this.link = link
  this.answer = answer
  this.settled = false
  this.statement = statement
  this.prepared = undefined
  this.parsed = []
  this.rowOf = undefined
  this.found = []
  this.count = 0
  this.opening = options?.opening
  this.unansweredOpenings = 0
  this.retry = options?.retry
}, preparedMethods)

export const sendStatement = (link: Link, statement: Statement, answer: Answer<Rows>, options?: StatementOptions) =>
  link.send(new PreparedQueryOf(link, answer, statement, options))

export const runStatement = (link: Link, statement: Statement, options?: StatementOptions): Promise<Rows> =>
  new Promise((resolve, reject) => sendStatement(link, statement, { resolve, reject }, options))

interface TextQuery extends QueryState<Rows & { tag: string }> {
  text: string
  rowOf: RowOf | undefined
  /** Not named `rows`, because `pg` reads a property `rows` as its own option. */
  found: Row[]
  tag: string
}

const textMethods = {
  ...baseMethods,
  submit(this: TextQuery) {
    this.link.messages.query(this.text)
    return null
  },
  handleRowDescription(this: TextQuery, { fields }: { fields: Field[] }) {
    this.rowOf = this.link.prepared.describe(fields)
    this.found = []
  },
  handleDataRow(this: TextQuery, { fields }: { fields: (string | null)[] }) {
    this.found.push(this.rowOf!(fields))
  },
  handleCommandComplete(this: TextQuery, { text }: { text: string }) {
    this.tag = text
  },
  handleReadyForQuery(this: TextQuery) {
    if (this.settled) return
    succeed(this, Object.assign(this.found as Rows, { count: countOf(this.tag), tag: this.tag }))
  },
}

const TextQueryOf = constructorOf(function (
  this: TextQuery,
  link: Link,
  answer: Answer<Rows & { tag: string }>,
  text: string,
) {
  this.link = link
  this.answer = answer
  this.settled = false
  this.text = text
  this.rowOf = undefined
  this.found = []
  this.tag = ''
}, textMethods)

/** Runs one or several statements without parameters. Returns the rows and the command tag of the last statement. */
export const runText = (link: Link, text: string): Promise<Rows & { tag: string }> =>
  new Promise((resolve, reject) => {
    link.send(new TextQueryOf(link, { resolve, reject }, text))
  })
