import { runCopyIn } from './copy.ts'
import { DatabaseUseError } from './errors.ts'
import { type ConnectionOptions, type Server, serverOf } from './hosts.ts'
import { createLending } from './lending.ts'
import type { Link, LinkOptions } from './link.ts'
import { createListener, type Listener } from './listen.ts'
import { createPipelined } from './pipelined.ts'
import { createSql, type Rows, type Runner, type Sql, type Statement, statementOf } from './sql.ts'
import { runText } from './statements.ts'
import { runTransaction, type TransactionSql } from './transactions.ts'

export interface PoolOptions {
  /** Connections at most: half of them are shared by plain statements, the others are for transactions. At least one of each. */
  max: number
  name?: string
  /**
   * Each statement is planned once for a connection, whatever its values are: for those that have one good plan only. Where
   * PostgreSQL plans a page anew each time, that is a third of what the page takes.
   */
  plans?: 'once'
  /** PostgreSQL ends a statement that takes longer, and the caller gets an error with code 57014. 0: no limit. */
  statementSeconds?: number
}

/** Statements without a transaction, and transactions. */
export interface Pool extends Sql {
  /** `mode`: of BEGIN, such as `isolation level repeatable read read only`. */
  begin<T>(work: (sql: TransactionSql) => T | Promise<T>): Promise<T>
  begin<T>(mode: string, work: (sql: TransactionSql) => T | Promise<T>): Promise<T>
  /** `copy … from stdin`, and statements before it in the same text, as a transaction of its own in two round trips. */
  copyIn: Runner['copyIn']
  /** `onListen`: listening started, for the first time or again; what was notified before is lost. */
  listen(channel: string, heard: (payload: string) => void, onListen?: () => void): ReturnType<Listener['listen']>
  /** Waits for what is under way, 5 seconds if not told otherwise, and then breaks the connections. */
  end(options?: { timeout?: number }): Promise<void>
}

const statementSecondsUsual = 30

const toCamel = (column: string) => column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const asIs = (name: string) => name

/** Column names are snake_case in the database and camelCase here unless `translate` is false; values are never changed. */
export const connect = (connection: ConnectionOptions, options: PoolOptions & { translate?: boolean }): Pool =>
  openPool(serverOf(connection), options)

export function openPool(server: Server, options: PoolOptions & { translate?: boolean }): Pool {
  const translate = options.translate !== false
  const toColumn = translate ? toSnake : asIs
  const linkOptions: LinkOptions = {
    name: options.name ?? 'waypost',
    plans: options.plans,
    statementSeconds: options.statementSeconds ?? statementSecondsUsual,
    rowName: translate ? toCamel : asIs,
  }
  const forTransactions = Math.max(1, Math.ceil(options.max / 2))
  const pipelined = createPipelined(server, Math.max(1, options.max - forTransactions), linkOptions)
  const lending = createLending(server, forTransactions, linkOptions)
  const listener = createListener(server, linkOptions)

  /** A text may hold a transaction of its own: where it failed, that must not stay open. */
  const alone = <T>(work: (link: Link) => Promise<T>) =>
    lending.withLink(async (link) => {
      try {
        const result = await work(link)
        if (link.isIdleOutsideTransaction()) return result
      } catch (error) {
        if (!link.lost) await runText(link, 'rollback').catch(() => {})
        throw error
      }
      throw new DatabaseUseError('A text left its transaction open: nothing of it was stored')
    })

  const runner: Runner = {
    statement: pipelined.run,
    text: (text) => alone<Rows>((link) => runText(link, text)),
    copyIn: (text, content) => alone((link) => runCopyIn(link, text, content)),
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
      return lending.withLink((link) => runTransaction(link, beginOf(mode), toColumn, work))
    },
    copyIn: runner.copyIn,
    listen: (channel: string, heard: (payload: string) => void, onListen = () => {}) =>
      listener.listen(channel, heard, onListen),
    async end({ timeout = 5 }: { timeout?: number } = {}) {
      await Promise.all([listener.end(), pipelined.end(timeout), lending.end(timeout)])
    },
  })
}

const begins = new Map<string, Statement>()

function beginOf(mode: string): Statement {
  let known = begins.get(mode)
  if (!known) {
    known = statementOf(`begin ${mode}`)
    begins.set(mode, known)
  }
  return known
}
