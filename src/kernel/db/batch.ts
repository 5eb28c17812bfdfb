/**
 * Runs a whole transaction in one round trip. All statements are sent before a single Sync message, which makes them a transaction without
 * BEGIN and COMMIT. The server commits at Sync. After an error, it skips everything before Sync.
 */
import { isStalePlan } from './errors.ts'
import type { Link } from './link.ts'
import type { Field, PreparedStatement } from './prepared.ts'
import { type Answer, baseMethods, constructorOf, countOf, fail, type QueryState, succeed } from './query.ts'
import type { Row, Rows, Statement } from './sql.ts'
import { prepareAndBind } from './statements.ts'

/** A statement, or `copy … from stdin` with its rows. */
export type BatchStep = { statement: Statement } | { copy: string; content: Buffer }

interface Sent {
  prepared: PreparedStatement | undefined
  /** True if this batch prepares the statement. */
  isNew: boolean
  rowOf: PreparedStatement['rowOf']
  rows: Row[]
}

interface BatchQuery extends QueryState<Rows[]> {
  steps: BatchStep[]
  sent: Sent[]
  /** The step that the server answers next. */
  current: number
}

function sendStep({ link }: BatchQuery, step: BatchStep): Sent {
  if ('statement' in step) {
    const { prepared, isNew } = prepareAndBind(link, step.statement, true)
    return { prepared, isNew, rowOf: prepared?.rowOf, rows: [] }
  }
  const { messages } = link
  messages.parse('', step.copy, undefined)
  messages.bind('', [])
  messages.execute()
  messages.copyData(step.content)
  return { prepared: undefined, isNew: false, rowOf: undefined, rows: [] }
}

const batchMethods = {
  ...baseMethods,
  submit(this: BatchQuery) {
    for (const step of this.steps) this.sent.push(sendStep(this, step))
    this.link.messages.sync()
    return null
  },
  // The rows were sent with the statement.
  handleCopyInResponse() {},
  handleRowDescription(this: BatchQuery, { fields }: { fields: Field[] }) {
    const step = this.sent[this.current]!
    step.rowOf = this.link.prepared.describe(fields)
    if (step.prepared) step.prepared.rowOf = step.rowOf
  },
  handleDataRow(this: BatchQuery, { fields }: { fields: (string | null)[] }) {
    const step = this.sent[this.current]!
    step.rows.push(step.rowOf!(fields))
  },
  handleCommandComplete(this: BatchQuery, { text }: { text: string }) {
    Object.assign(this.sent[this.current]!.rows, { count: countOf(text) })
    this.current++
  },
  handleReadyForQuery(this: BatchQuery) {
    if (this.settled) return
    succeed(
      this,
      this.sent.map(({ rows }) => rows as Rows),
    )
  },
  handleError(this: BatchQuery, error: Error) {
    if (this.settled) return
    const { prepared } = this.link
    for (const [index, step] of this.sent.entries())
      if (step.prepared && (step.isNew || (index === this.current && isStalePlan(error))))
        prepared.remove(step.prepared)
    fail(this as never, error)
  },
}

const BatchQueryOf = constructorOf(function (this: BatchQuery, link: Link, answer: Answer<Rows[]>, steps: BatchStep[]) {
  this.link = link
  this.answer = answer
  this.settled = false
  this.steps = steps
  this.sent = []
  this.current = 0
}, batchMethods)

/** Resolves with the rows of each step when the transaction is committed. */
export const runBatch = (link: Link, steps: BatchStep[]): Promise<Rows[]> =>
  new Promise((resolve, reject) => {
    link.send(new BatchQueryOf(link, { resolve, reject }, steps))
  })
