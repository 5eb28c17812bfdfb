/** The pool: shared connections for single statements, exclusive connections for transactions, and a connection for LISTEN. */
import { runCopyIn, runCopyOut } from './copy.ts'
import { DatabaseUseError } from './errors.ts'
import { createExclusiveConnections } from './exclusive.ts'
import { type ConnectionOptions, type Server, serverOf } from './hosts.ts'
import type { Link, LinkOptions } from './link.ts'
import { createListener, type Listener, type OnListen } from './listen.ts'
import { createPipelined } from './pipelined.ts'
import { createSql, type Rows, type Runner, type Sql, type Statement, statementOf } from './sql.ts'
import { runText } from './statements.ts'
import { plainBegin, runTransaction, type TransactionSql } from './transactions.ts'

export interface PoolOptions {
  /**
   * Maximum number of connections. Single statements share half of the connections; transactions use the other half. Each half has at least
   * one connection.
   */
  max: number
  name?: string
  /**
   * Plans each statement once per connection, for any values. Use it only for statements whose best plan does not depend on the values.
   * Without this option, planning takes a third of the time of a query for a page of results.
   */
  plans?: 'once'
  /** Time limit of a statement. A statement that exceeds it fails with code 57014. 0 means no limit. */
  statementSeconds?: number
}

/** Runs statements without a transaction, and transactions. */
export interface Pool extends Sql {
  /** `mode` is added to BEGIN, such as `isolation level repeatable read read only`. */
  begin<T>(work: (sql: TransactionSql) => T | Promise<T>): Promise<T>
  begin<T>(mode: string, work: (sql: TransactionSql) => T | Promise<T>): Promise<T>
  /** Runs `copy … from stdin`, and statements before it in the same text, as one transaction in two round trips. */
  copyIn: Runner['copyIn']
  /**
   * Runs `copy … to stdout`, and statements before it in the same text, as one transaction. Returns the whole output in blocks, each of
   * which begins and ends with a row.
   */
  copyOut(text: string): Promise<Buffer[]>
  /** `onListen` is called when listening starts or restarts. Notifications before that are lost. */
  listen(channel: string, onPayload: (payload: string) => void, onListen?: OnListen): ReturnType<Listener['listen']>
  /** Waits for running statements (5 seconds by default), then breaks the connections. */
  end(options?: { timeout?: number }): Promise<void>
}

const defaultStatementSeconds = 30

const toCamel = (column: string) => column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const unchanged = (name: string) => name

/** Connects to a database. Unless `translate` is false, snake_case column names become camelCase names. Values are never translated. */
export const connect = (connection: ConnectionOptions, options: PoolOptions & { translate?: boolean }): Pool =>
  openPool(serverOf(connection), options)

export function openPool(server: Server, options: PoolOptions & { translate?: boolean }): Pool {
  const translate = options.translate !== false
  const toColumn = translate ? toSnake : unchanged
  const linkOptions: LinkOptions = {
    name: options.name ?? 'waypost',
    plans: options.plans,
    statementSeconds: options.statementSeconds ?? defaultStatementSeconds,
    rowName: translate ? toCamel : unchanged,
  }
  const forTransactions = Math.max(1, Math.ceil(options.max / 2))
  const pipelined = createPipelined(server, Math.max(1, options.max - forTransactions), linkOptions)
  const exclusive = createExclusiveConnections(server, forTransactions, linkOptions)
  const listener = createListener(server, linkOptions)

  /** Runs a text on a connection of its own. If the text opens a transaction and fails, the transaction must not stay open. */
  const onOwnConnection = <T>(work: (link: Link) => Promise<T>) =>
    exclusive.withLink(async (link) => {
      try {
        const result = await work(link)
        if (link.isIdleOutsideTransaction()) return result
      } catch (error) {
        if (!link.lost) await runText(link, 'rollback').catch(() => {})
        throw error
      }
      throw new DatabaseUseError('A text left its transaction open; it was rolled back')
    })

  const runner: Runner = {
    statement: pipelined.run,
    text: (text) => onOwnConnection<Rows>((link) => runText(link, text)),
    copyIn: (text, content) => onOwnConnection((link) => runCopyIn(link, text, content)),
    copyOut() {
      throw new Error('COPY TO STDOUT needs a transaction')
    },
  }
  return Object.assign(createSql(runner, toColumn), {
    begin<T>(
      first: string | ((sql: TransactionSql) => T | Promise<T>),
      second?: (sql: TransactionSql) => T | Promise<T>,
    ) {
      const [mode, work] = typeof first === 'string' ? [first, second!] : ['', first]
      return exclusive.withLink((link) => runTransaction(link, beginStatement(mode), toColumn, work))
    },
    copyIn: runner.copyIn,
    copyOut: (text: string) => onOwnConnection((link) => Array.fromAsync(runCopyOut(link, text))),
    listen: (channel: string, onPayload: (payload: string) => void, onListen: OnListen = () => {}) =>
      listener.listen(channel, onPayload, onListen),
    async end({ timeout = 5 }: { timeout?: number } = {}) {
      await Promise.all([listener.end(), pipelined.end(timeout), exclusive.end(timeout)])
    },
  })
}

const beginStatements = new Map<string, Statement>()

function beginStatement(mode: string): Statement {
  let statement = beginStatements.get(mode)
  if (!statement) {
    statement = statementOf(mode === '' ? plainBegin : `${plainBegin} ${mode}`)
    beginStatements.set(mode, statement)
  }
  return statement
}
