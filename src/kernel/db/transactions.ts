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

const hasEnded = 'The transaction of this statement has ended'

interface State {
  /** True while the transaction accepts statements. */
  open: boolean
  /** True once COMMIT or ROLLBACK was sent. */
  over: boolean
  /** The statement that was sent together with BEGIN, or BEGIN itself. */
  first: Promise<unknown> | undefined
  begun: boolean
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
  const state: State = { open: true, over: false, first: undefined, begun: false, failure: undefined, savepoints: 0 }
  const lost = Promise.withResolvers<never>()
  lost.promise.catch(() => {})
  const beforeLoss = link.onLost
  link.onLost = (error) => {
    beforeLoss(error)
    lost.reject(error)
  }
  const sql = transactionSql(link, state, createRunner(link, state, begin), toColumn)

  try {
    const result = await Promise.race([work(sql), lost.promise])
    state.open = false
    if (state.first) await commit(link, state)
    return result
  } catch (error) {
    state.open = false
    state.over = true
    if (state.first && !link.lost) await runText(link, 'rollback').catch(() => {})
    throw link.lost ?? (isAborted(error) ? (state.failure ?? error) : error)
  } finally {
    link.onLost = beforeLoss
  }
}

/** Sends statements in the transaction, BEGIN with the first one. */
function createRunner(link: Link, state: State, begin: Statement): Runner {
  /** Rejects if the transaction is over, because its connection may have another owner by now. */
  function guarded<R>(send: () => Promise<R>): Promise<R> {
    if (link.lost) return Promise.reject(link.lost)
    if (state.over) return Promise.reject(new DatabaseUseError(hasEnded))
    const sent = send()
    sent.catch((error) => {
      state.failure ??= error
    })
    return sent
  }

  /** Sends the first statement. Others wait for its answer: if BEGIN failed, they would be committed on their own. */
  function first<R>(send: () => Promise<R>): Promise<R> {
    const sent = guarded(send)
    state.first = sent
    sent.then(
      () => {
        state.begun = true
      },
      () => {},
    )
    return sent
  }
  const afterFirst = <R>(send: () => Promise<R>) => state.first!.then(() => guarded(send))

  function afterBegin<R>(send: () => Promise<R>): Promise<R> {
    if (state.begun) return guarded(send)
    if (!state.first) void first(() => runStatement(link, begin))
    return afterFirst(send)
  }
  /** Keeps a failed statement that the caller does not await from being an unhandled rejection; COMMIT reports its error. */
  function watched<R>(issue: () => Promise<R>): Promise<R> {
    if (!state.open) return Promise.reject(link.lost ?? new DatabaseUseError(hasEnded))
    const sent = issue()
    sent.catch(() => {})
    return sent
  }

  async function* copyOut(text: string) {
    await watched(() => afterBegin(async () => {}))
    yield* runCopyOut(link, text)
  }

  return {
    statement: (statement) =>
      watched(() => {
        if (state.begun) return guarded(() => runStatement(link, statement))
        if (state.first) return afterFirst(() => runStatement(link, statement))
        // In one message with BEGIN: if BEGIN fails, the server skips the statement.
        return first(() => runStatement(link, statement, { opening: begin }))
      }),
    text: (text) => watched(() => afterBegin<Rows>(() => runText(link, text))),
    copyIn: (text, content) => watched(() => afterBegin(() => runCopyIn(link, text, content))),
    copyOut,
  }
}

function transactionSql(link: Link, state: State, runner: Runner, toColumn: ToColumn): TransactionSql {
  const sql: TransactionSql = Object.assign(createSql(runner, toColumn), {
    async savepoint<R>(inner: (sql: TransactionSql) => Promise<R>): Promise<R> {
      const name = `s${++state.savepoints}`
      await runner.text(`savepoint ${name}`)
      const before = state.failure
      try {
        const result = await inner(sql)
        await runner.text(`release savepoint ${name}`)
        return result
      } catch (error) {
        if (!link.lost) {
          await runner.text(`rollback to savepoint ${name}`)
          state.failure = before
        }
        throw error
      }
    },
    async withoutTimeLimit() {
      await runner.text('set local statement_timeout = 0')
      link.limited = false
    },
  })
  return sql
}

/** Commits. If a statement has failed, PostgreSQL answers COMMIT with ROLLBACK and without an error. */
async function commit(link: Link, state: State) {
  // Statements issued before are sent first.
  await state.first
  state.over = true
  const { tag } = await runText(link, 'commit')
  if (tag !== 'COMMIT')
    throw state.failure ?? new ConnectionError('CONNECTION_ROLLED_BACK', `PostgreSQL answered COMMIT with ${tag}`)
}
