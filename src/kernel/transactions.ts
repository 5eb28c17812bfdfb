/**
 * Transactions that survive the end of their connection. The driver (postgres.js 3.4) goes on to send what a transaction asks for
 * after its connection is gone, the `rollback` of its own too: that ends the process with an error that nobody can catch, or, once
 * the connection is open again, lands in the middle of somebody else's transaction. So, from the moment of the loss, nothing of
 * such a transaction reaches the driver any more: its caller is told, and the rest of it waits for ever.
 */
import type postgres from 'postgres'

type Pool = postgres.Sql
// biome-ignore lint/complexity/noBannedTypes: postgres.js names "no custom types" so
type Sql = postgres.ISql<{}>

interface Transaction {
  lost: boolean
}

/** What the driver's `begin` asks of the pool; `onexecute` tells the connection. */
interface Driver {
  unsafe(text: string, args?: unknown[], options?: { onexecute?: (connection: { id: number }) => unknown }): unknown
  begin(...given: unknown[]): Promise<unknown>
}

type Work = (sql: Sql) => unknown

const never = new Promise<never>(() => {})

/** By the id of a connection, which is unique in the process. */
const underWay = new Map<number, Transaction>()

/** The driver calls it in the same moment in which it refuses what was under way. */
export const connectionLost = (id: number) => {
  const transaction = underWay.get(id)
  if (transaction) transaction.lost = true
  underWay.delete(id)
}

/** For a pool whose option `onclose` is `connectionLost`. */
export function withSafeTransactions(pool: Pool): Pool {
  const driver = pool as unknown as Driver
  const { unsafe, begin } = driver
  /** The one whose `begin` is being called at this moment. */
  let beginning: Transaction | undefined

  driver.unsafe = (text, args, options) => {
    const transaction = beginning
    if (!transaction || !options?.onexecute) return unsafe(text, args, options)
    beginning = undefined
    const { onexecute } = options
    return unsafe(text, args, {
      ...options,
      onexecute(connection) {
        underWay.set(connection.id, transaction)
        return onexecute(connection)
      },
    })
  }

  driver.begin = (...given) => {
    const work = given.pop() as Work
    const transaction: Transaction = { lost: false }
    beginning = transaction
    try {
      return begin(...given, (sql: Sql) => guardedWork(transaction, work, sql))
    } finally {
      beginning = undefined
    }
  }
  return pool
}

async function guardedWork(transaction: Transaction, work: Work, sql: Sql) {
  try {
    const result = await resultOf(work(guarded(transaction, sql)))
    return transaction.lost ? await never : result
  } catch (error) {
    if (transaction.lost) return await never
    throw error
  }
}

/** The driver lets a list of queries stand for all of them. */
const resultOf = (result: unknown) => (Array.isArray(result) ? Promise.all(result) : result)

function guarded(transaction: Transaction, sql: Sql): Sql {
  return new Proxy(sql, {
    apply: (target, self, args) => (transaction.lost ? never : Reflect.apply(target, self, args)),
    get(target, name) {
      if (transaction.lost && (name === 'unsafe' || name === 'savepoint')) return () => never
      const value = Reflect.get(target, name)
      if (name !== 'savepoint' || typeof value !== 'function') return value
      return (...given: unknown[]) => {
        const work = given.pop() as Work
        return value(...given, (inner: Sql) => guardedWork(transaction, work, inner))
      }
    },
  })
}
