import postgres from 'postgres'
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
  /** Connections of their own beside the others, for work that must not wait for them; they close with the rest. */
  open(options: { max: number; name: string }): Db
  close(): Promise<void>
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

export function connect(
  connection: ConnectionOptions,
  options: { max: number; translate?: boolean; name?: string },
): Pool {
  const { url, ...rest } = connection
  const settings = {
    max: options.max,
    idle_timeout: 30,
    connect_timeout: 10,
    types: { bigint: bigintAsNumber },
    connection: { application_name: options.name ?? 'waypost', TimeZone: 'UTC' },
    onnotice: () => {},
    onclose: connectionLost,
    ...rest,
    ...(options.translate === false ? {} : { transform: translated }),
  }
  return withSafeTransactions((url ? postgres(url, settings as never) : postgres(settings as never)) as unknown as Pool)
}

const attemptsMax = 3

/** Two transactions stood in each other's way and PostgreSQL ended one of them: nothing of it happened, so it runs again. */
const isCollision = (error: unknown) =>
  error instanceof postgres.PostgresError && (error.code === '40P01' || error.code === '40001')

/** `connection`: for those who open further ones. */
export function createDb(pool: Pool, connection?: ConnectionOptions): Db {
  return createDbWith(pool, connection, new WeakMap())
}

function createDbWith(
  pool: Pool,
  connection: ConnectionOptions | undefined,
  effects: WeakMap<object, (() => void)[]>,
): Db {
  const beside: Db[] = []
  return {
    sql: pool,
    open(options) {
      if (!connection) throw new Error('this database was not given how to open further connections')
      const other = createDbWith(connect(connection, options), connection, effects)
      beside.push(other)
      return other
    },
    async tx(work) {
      for (let attempt = 1; ; attempt++) {
        const done: (() => void)[] = []
        try {
          const result = await pool.begin(async (sql) => {
            effects.set(sql, done)
            return await work(sql)
          })
          for (const effect of done) effect()
          return result as Awaited<ReturnType<typeof work>>
        } catch (error) {
          if (attempt === attemptsMax || !isCollision(error)) throw error
        }
      }
    },
    afterCommit(sql, effect) {
      const list = effects.get(sql)
      if (!list) throw new Error('afterCommit needs the sql of an open db.tx')
      list.push(effect)
    },
    async close() {
      await Promise.all([...beside.splice(0).map((other) => other.close()), pool.end({ timeout: 5 })])
    },
  }
}

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
  'ENOENT',
  'EPIPE',
])

/** The database is away for a moment: 503, never 500. */
export const isConnectionTrouble = (error: unknown) => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (code.startsWith('CONNECTION_') || code === 'CONNECT_TIMEOUT' || passing.has(code))
}

/** Out of disk, memory or other means: nothing of the statement happened. */
export const isExhausted = (error: unknown) => error instanceof postgres.PostgresError && error.code.startsWith('53')

/** A pattern for a partial match: the caller's text is text, not a pattern. */
export const likePart = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
