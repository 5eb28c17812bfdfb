/**
 * Runs a transaction on one connection. If the work ends without waiting for any answer, all statements are sent together (batch.ts).
 * Otherwise BEGIN is sent together with the first statement.
 */
import { type BatchStep, runBatch } from './batch.ts'
import { runCopyIn, runCopyOut } from './copy.ts'
import { ConnectionError, DatabaseUseError, isAborted } from './errors.ts'
import type { Link } from './link.ts'
import { createSql, type Rows, type Runner, type Sql, type Statement, type ToColumn } from './sql.ts'
import { runStatement, runText } from './statements.ts'

export interface TransactionSql extends Sql {
  /** Runs work in a savepoint. If the work fails, only the work is rolled back, and the transaction can continue. */
  savepoint<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T>
  /** Removes the time limit of statements until the end of the transaction. */
  withoutTimeLimit(): Promise<void>
}

/** Starts a transaction with the default mode. Only such transactions can be sent without BEGIN. */
export const plainBegin = 'begin'
/** Statements that need BEGIN, or have no effect without it. */
const needsBegin = /^\s*(?:set|lock|declare|savepoint|release|rollback)\b/i
const isSingle = (text: string) => !text.includes(';')
const noRows = (): Rows => Object.assign([], { count: 0 })

/**
 * Returns the rows if they are a Buffer. Otherwise returns a function from which the copy reads them later. If `content` throws, that
 * function throws the same error.
 */
function contentOf(content: Content): Buffer | Content {
  try {
    const rows = content()
    return Buffer.isBuffer(rows) ? rows : () => rows
  } catch (error) {
    return () => {
      throw error
    }
  }
}
type Content = Parameters<Runner['copyIn']>[1]

const hasEndedText = 'The transaction of this statement has ended'

/** A step, with the promise that the caller of the statement got. */
interface UnsentStep {
  step: BatchStep
  answer: PromiseWithResolvers<Rows>
}

interface State {
  /** True while the transaction accepts statements. */
  isOpen: boolean
  /** True once COMMIT or ROLLBACK was sent. */
  isEnding: boolean
  /** The statement that was sent together with BEGIN, or BEGIN itself. */
  first: Promise<unknown> | undefined
  hasBegun: boolean
  /** The statements that are kept back until the first statement is sent. */
  unsent: UnsentStep[]
  failure: unknown
  savepoints: number
}

/** Runs work in a transaction on this connection. `begin` is the statement that starts it. */
export async function runTransaction<T>(
  link: Link,
  begin: Statement,
  toColumn: ToColumn,
  work: (sql: TransactionSql) => T | Promise<T>,
): Promise<T> {
  const state: State = {
    isOpen: true,
    isEnding: false,
    first: undefined,
    hasBegun: false,
    unsent: [],
    failure: undefined,
    savepoints: 0,
  }
  const lost = Promise.withResolvers<never>()
  lost.promise.catch(() => {})
  const previousOnLost = link.onLost
  link.onLost = (error) => {
    previousOnLost(error)
    lost.reject(error)
  }
  const sql = transactionSql(link, state, createRunner(link, state, begin), toColumn)

  try {
    const result = await Promise.race([work(sql), lost.promise])
    state.isOpen = false
    if (state.unsent.length > 0) await sendBatch(link, state)
    else if (state.first) await commit(link, state)
    return result
  } catch (error) {
    state.isOpen = false
    state.isEnding = true
    for (const { answer } of state.unsent.splice(0)) answer.reject(error)
    if (state.first && !link.lost) await runText(link, 'rollback').catch(() => {})
    throw link.lost ?? (isAborted(error) ? (state.failure ?? error) : error)
  } finally {
    link.onLost = previousOnLost
  }
}

/** Sends the statements of the transaction. BEGIN is sent together with the first statement. */
function createRunner(link: Link, state: State, begin: Statement): Runner {
  /** Rejects if the transaction is over, because its connection may already have another owner. */
  function sendIfOpen<R>(send: () => Promise<R>): Promise<R> {
    if (link.lost) return Promise.reject(link.lost)
    if (state.isEnding) return Promise.reject(new DatabaseUseError(hasEndedText))
    const sent = send()
    sent.catch((error) => {
      state.failure ??= error
    })
    return sent
  }

  /**
   * Sends the first statement. Other statements wait for its answer, because if BEGIN failed, each statement would be committed separately.
   */
  function sendFirst<R>(send: () => Promise<R>): Promise<R> {
    const sent = sendIfOpen(send)
    state.first = sent
    sent.then(
      () => {
        state.hasBegun = true
      },
      () => {},
    )
    return sent
  }
  const afterFirst = <R>(send: () => Promise<R>) => state.first!.then(() => sendIfOpen(send))

  function afterBegin<R>(send: () => Promise<R>): Promise<R> {
    sendUnsent()
    if (state.hasBegun) return sendIfOpen(send)
    if (!state.first) void sendFirst(() => runStatement(link, begin))
    return afterFirst(send)
  }
  function runNow(statement: Statement): Promise<Rows> {
    if (state.hasBegun) return sendIfOpen(() => runStatement(link, statement))
    if (state.first) return afterFirst(() => runStatement(link, statement))
    // The statement is sent in one message with BEGIN. If BEGIN fails, the server skips the statement.
    return sendFirst(() => runStatement(link, statement, { opening: begin }))
  }
  /**
   * Keeps a step unsent until the work ends. If the work has not ended by the end of this turn of the event loop, it must be waiting for an
   * answer, so the steps are sent.
   */
  function keepUnsent(step: BatchStep): Promise<Rows> {
    const answer = Promise.withResolvers<Rows>()
    if (state.unsent.push({ step, answer }) === 1) process.nextTick(sendUnsent)
    return answer.promise
  }
  function sendUnsent() {
    if (state.isEnding) return
    for (const { step, answer } of state.unsent.splice(0)) {
      const sent =
        'statement' in step
          ? runNow(step.statement)
          : afterBegin(() => runCopyIn(link, step.copy, () => step.content).then(noRows))
      sent.then(answer.resolve, answer.reject)
    }
  }
  const mayKeep = () => state.first === undefined && begin.text.text === plainBegin

  /**
   * Issues a statement. If the caller does not await it and it fails, there is no unhandled rejection, because COMMIT reports the error.
   */
  function issueStatement<R>(issue: () => Promise<R>): Promise<R> {
    if (!state.isOpen) return Promise.reject(link.lost ?? new DatabaseUseError(hasEndedText))
    const sent = issue()
    sent.catch(() => {})
    return sent
  }

  async function* copyOut(text: string) {
    await issueStatement(() => afterBegin(async () => {}))
    yield* runCopyOut(link, text)
  }

  return {
    statement: (statement) =>
      issueStatement(() => {
        if (mayKeep() && !needsBegin.test(statement.text.text)) return keepUnsent({ statement })
        sendUnsent()
        return runNow(statement)
      }),
    text: (text) => issueStatement(() => afterBegin<Rows>(() => runText(link, text))),
    copyIn: (text, content) =>
      issueStatement(async () => {
        const isKept = mayKeep() && isSingle(text)
        const rows = isKept ? contentOf(content) : content
        if (Buffer.isBuffer(rows)) await keepUnsent({ copy: text, content: rows })
        else await afterBegin(() => runCopyIn(link, text, rows))
      }),
    copyOut,
  }
}

function transactionSql(link: Link, state: State, runner: Runner, toColumn: ToColumn): TransactionSql {
  const sql: TransactionSql = Object.assign(createSql(runner, toColumn), {
    async savepoint<R>(inner: (sql: TransactionSql) => Promise<R>): Promise<R> {
      const name = `s${++state.savepoints}`
      await runner.text(`savepoint ${name}`)
      const failureBefore = state.failure
      try {
        const result = await inner(sql)
        await runner.text(`release savepoint ${name}`)
        return result
      } catch (error) {
        if (!link.lost) {
          await runner.text(`rollback to savepoint ${name}`)
          state.failure = failureBefore
        }
        throw error
      }
    },
    async withoutTimeLimit() {
      await runner.text('set local statement_timeout = 0')
      link.hasTimeLimit = false
    },
  })
  return sql
}

/** Runs all statements as one transaction, in one round trip. */
async function sendBatch(link: Link, state: State) {
  state.isEnding = true
  const unsent = state.unsent.splice(0)
  try {
    if (link.lost) throw link.lost
    const results = await runBatch(
      link,
      unsent.map(({ step }) => step),
    )
    for (const [index, { answer }] of unsent.entries()) answer.resolve(results[index]!)
  } catch (error) {
    for (const { answer } of unsent) answer.reject(error)
    throw error
  }
}

/** Commits. If a statement has failed, PostgreSQL answers COMMIT with the tag ROLLBACK and without an error. */
async function commit(link: Link, state: State) {
  // Statements that wait for the answer to BEGIN must be sent before COMMIT.
  await state.first
  state.isEnding = true
  const { tag } = await runText(link, 'commit')
  if (tag !== 'COMMIT')
    throw state.failure ?? new ConnectionError('CONNECTION_ROLLED_BACK', `PostgreSQL answered COMMIT with ${tag}`)
}
