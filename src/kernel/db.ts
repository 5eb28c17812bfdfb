import { Socket } from 'node:net'
import postgres from 'postgres'
import { type CopyQuery, copyIn } from './copy-in.ts'
import { connectionLost, withSafeTransactions } from './transactions.ts'

/** The pool or an open transaction: store functions take it first, the caller decides. */
// biome-ignore lint/complexity/noBannedTypes: postgres.js names "no custom types" so
export type Sql = postgres.ISql<{}>
export type Pool = postgres.Sql

export interface Db {
  sql: Pool
  /**
   * Applied whole or not at all; what was registered with `afterCommit` runs once it is durable. After a deadlock the work
   * runs again: it must not do anything outside of the transaction.
   */
  tx<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  afterCommit(sql: Sql, effect: () => void): void
  /**
   * One `copy … from stdin`, and the statements that stand before it in the same text, as a transaction of its own: two ways to
   * the database and back, where `tx` needs four. On a busy process each of them waits for everything else that arrived.
   */
  copyIn(text: string, content: () => Buffer): Promise<void>
  /** Connections of their own beside the others, for work that must not wait for them; they close with the rest. */
  open(options: PoolOptions & { name: string }): Db
  close(): Promise<void>
}

export interface PoolOptions {
  max: number
  name?: string
  /**
   * Each statement is planned once for a connection, whatever its values are: for those that have one good plan only. Where
   * PostgreSQL plans a page anew each time, that is a third of what the page takes.
   */
  plans?: 'once'
}

export type ConnectionOptions = postgres.Options<Record<string, never>> & { url?: string }

const toCamel = (column: string) => column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * Column names are translated, values never: postgres.js's ready-made camel transform would also rewrite keys
 * inside jsonb, which belong to the user.
 */
const translated = { column: { from: toCamel, to: toSnake } }

/** bigint columns hold counts and sizes of ours, all far below 2^53. */
const bigintAsNumber = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => Number(text),
}

/**
 * The driver opens sockets that hold back small packets until the last one is acknowledged (Nagle): over TCP each transaction that
 * writes more than once in a row would wait 40 ms for it. What is written before the socket is connected waits there.
 */
function quickSockets() {
  let opened = 0
  return ({ path, host, port }: { path?: string; host: string[]; port: number[] }) => {
    const socket = new Socket()
    if (path) return socket.connect(path)
    const next = opened++ % host.length
    socket.setNoDelay(true)
    // The driver names them in its errors, and asks for the certificate of this host.
    return Object.assign(socket.connect(port[next]!, host[next]!), { host: host[next], port: port[next] })
  }
}

export function connect(connection: ConnectionOptions, options: PoolOptions & { translate?: boolean }): Pool {
  const { url, ...rest } = connection
  const settings = {
    max: options.max,
    idle_timeout: 30,
    connect_timeout: 10,
    // The driver's own pause grows to 20 s within a few failures of all connections together: the database would be back for long.
    backoff: () => 0.1 + Math.random() * 0.2,
    types: { bigint: bigintAsNumber },
    connection: {
      application_name: options.name ?? 'waypost',
      TimeZone: 'UTC',
      ...(options.plans === 'once' && { plan_cache_mode: 'force_generic_plan' }),
    },
    onnotice: () => {},
    onclose: connectionLost,
    socket: quickSockets(),
    ...rest,
    ...(options.translate === false ? {} : { transform: translated }),
  }
  return withSafeTransactions((url ? postgres(url, settings as never) : postgres(settings as never)) as unknown as Pool)
}

const attemptsMax = 3

/** Two transactions stood in each other's way and PostgreSQL ended one of them: nothing of it happened, so it runs again. */
const isCollision = (error: unknown) =>
  error instanceof postgres.PostgresError && (error.code === '40P01' || error.code === '40001')

/**
 * Plain statements and transactions never share a connection: where many statements wait on one, the driver (3.4.9) can give a
 * connection back whose BEGIN was the last that it took, and what others then write there is acknowledged and rolled back.
 */
export function createDb(connection: ConnectionOptions, options: PoolOptions): Db {
  return createDbWith(connection, options, new WeakMap())
}

function createDbWith(
  connection: ConnectionOptions,
  { max, ...options }: PoolOptions,
  effects: WeakMap<object, (() => void)[]>,
): Db {
  const forTransactions = Math.max(1, Math.ceil(max / 2))
  const pool = connect(connection, { max: Math.max(1, max - forTransactions), ...options })
  const open = () => connect(connection, { max: forTransactions, ...options })
  let transactions = open()
  const beside: Db[] = []

  /** The driver may never use a connection again that broke while something was on its way to it. */
  function replace(broken: Pool) {
    if (transactions !== broken) return
    transactions = open()
    void broken.end({ timeout: 5 })
  }

  async function attempt<T>(work: (sql: Sql) => Promise<T>, done: (() => void)[]): Promise<T> {
    const own = transactions
    try {
      return (await own.begin(async (sql) => {
        effects.set(sql, done)
        return await work(sql)
      })) as T
    } catch (error) {
      if (isConnectionTrouble(error)) replace(own)
      throw error
    }
  }

  return {
    sql: pool,
    open(options) {
      const other = createDbWith(connection, options, effects)
      beside.push(other)
      return other
    },
    async tx(work) {
      for (let tried = 1; ; tried++) {
        const done: (() => void)[] = []
        try {
          const result = await attempt(work, done)
          for (const effect of done) effect()
          return result
        } catch (error) {
          if (tried === attemptsMax || !isCollision(error)) throw error
        }
      }
    },
    afterCommit(sql, effect) {
      const list = effects.get(sql)
      if (!list) throw new Error('afterCommit needs the sql of an open db.tx')
      list.push(effect)
    },
    async copyIn(text, content) {
      const own = transactions
      try {
        await copyIn(ownTransaction(own, text), content)
      } catch (error) {
        if (isConnectionTrouble(error)) replace(own)
        throw error
      }
    },
    async close() {
      const own = [pool.end({ timeout: 5 }), transactions.end({ timeout: 5 })]
      await Promise.all([...beside.splice(0).map((other) => other.close()), ...own])
    },
  }
}

/** A text without parameters is a transaction for PostgreSQL; `onexecute` keeps the driver from sending anything else with it. */
const ownTransaction = (pool: Pool, text: string) =>
  (pool.unsafe as (text: string, args: unknown[], options: object) => CopyQuery)(text, [], {
    simple: true,
    onexecute: () => false,
  })

/** PostgreSQL's code for "this key is taken". */
export const isUniqueViolation = (error: unknown, constraint?: string) =>
  error instanceof postgres.PostgresError &&
  error.code === '23505' &&
  (constraint === undefined || error.constraint_name === constraint)

const passing = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08006',
  '08001',
  '08003',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ENOENT',
  'EPIPE',
])

/** The database is away for a moment: 503, never 500. */
export const isConnectionTrouble = (error: unknown) => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (code.startsWith('CONNECTION_') || code === 'CONNECT_TIMEOUT' || passing.has(code))
}

/**
 * The driver asks each new connection for types of arrays, and nobody waits for the answer: if the connection breaks at that very
 * moment, the process would end. Whoever wanted the connection has been told.
 */
export const isUnheardLoss = (error: unknown) =>
  isConnectionTrouble(error) && String((error as { query?: unknown }).query).includes('pg_catalog.pg_type')

/** Out of disk, memory or other means: nothing of the statement happened. */
export const isExhausted = (error: unknown) => error instanceof postgres.PostgresError && error.code.startsWith('53')

/** A pattern for a partial match: the caller's text is text, not a pattern. */
export const likePart = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
