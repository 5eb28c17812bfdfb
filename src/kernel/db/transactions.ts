/** Runs a transaction on one connection. BEGIN is sent together with the first statement. */
import { runCopyIn, runCopyOut } from './copy.ts'
import { ConnectionError, DatabaseUseError, isAborted } from './errors.ts'
import type { Link } from './link.ts'
import { createSql, type Rows, type Runner, type Sql, type Statement, type ToColumn } from './sql.ts'
import { runStatement, runText } from './statements.ts'

export interface TransactionSql extends Sql {
  /** Runs work that is rolled back alone if it fails; the transaction can continue. */
  savepoint<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T>
  /** Lifts the time limit of statements until the end of the transaction. */
  withoutTimeLimit(): Promise<void>
}

const hasEndedText = 'The transaction of this statement has ended'

interface State {
  /** True while the transaction accepts statements. */
  isOpen: boolean
  /** True once COMMIT or ROLLBACK was sent. */
  isEnding: boolean
  /** The statement that was sent together with BEGIN, or BEGIN itself. */
  first: Promise<unknown> | undefined
  hasBegun: boolean
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
    if (state.first) await commit(link, state)
    return result
  } catch (error) {
    state.isOpen = false
    state.isEnding = true
    if (state.first && !link.lost) await runText(link, 'rollback').catch(() => {})
    throw link.lost ?? (isAborted(error) ? (state.failure ?? error) : error)
  } finally {
    link.onLost = previousOnLost
  }
}

/** Sends statements in the transaction, BEGIN with the first one. */
function createRunner(link: Link, state: State, begin: Statement): Runner {
  /** Rejects if the transaction is over, because its connection may have another owner by now. */
  function sendIfOpen<R>(send: () => Promise<R>): Promise<R> {
    if (link.lost) return Promise.reject(link.lost)
    if (state.isEnding) return Promise.reject(new DatabaseUseError(hasEndedText))
    const sent = send()
    sent.catch((error) => {
      state.failure ??= error
    })
    return sent
  }

  /** Sends the first statement. Others wait for its answer: if BEGIN failed, they would be committed on their own. */
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
    if (state.hasBegun) return sendIfOpen(send)
    if (!state.first) void sendFirst(() => runStatement(link, begin))
    return afterFirst(send)
  }
  /** Keeps a failed statement that the caller does not await from being an unhandled rejection; COMMIT reports its error. */
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
        if (state.hasBegun) return sendIfOpen(() => runStatement(link, statement))
        if (state.first) return afterFirst(() => runStatement(link, statement))
        // The statement is sent in one message with BEGIN: if BEGIN fails, the server skips it.
        return sendFirst(() => runStatement(link, statement, { opening: begin }))
      }),
    text: (text) => issueStatement(() => afterBegin<Rows>(() => runText(link, text))),
    copyIn: (text, content) => issueStatement(() => afterBegin(() => runCopyIn(link, text, content))),
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

/** Commits. If a statement has failed, PostgreSQL answers COMMIT with ROLLBACK and without an error. */
async function commit(link: Link, state: State) {
  // Statements that wait for the answer to BEGIN are sent before COMMIT.
  await state.first
  state.isEnding = true
  const { tag } = await runText(link, 'commit')
  if (tag !== 'COMMIT')
    throw state.failure ?? new ConnectionError('CONNECTION_ROLLED_BACK', `PostgreSQL answered COMMIT with ${tag}`)
}
