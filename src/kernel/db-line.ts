/**
 * A transaction whose connection breaks. The driver (3.4.9) would write its ROLLBACK, and whatever else comes, to a socket that is
 * no more, which ends the process; or to the next one, into the transaction of somebody else. So nothing is sent any more once the
 * connection is known to be broken, and the driver's own rejection is the outcome.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type postgres from 'postgres'

// biome-ignore lint/complexity/noBannedTypes: postgres.js names "no custom types" so
type Sql = postgres.ISql<{}>

export interface Line {
  broken: boolean
}

export const createLine = (): Line => ({ broken: false })

const never = new Promise<never>(() => {})

class BrokenLineError extends Error {
  override readonly name = 'BrokenLineError'
  readonly code = 'CONNECTION_CLOSED'
  constructor() {
    super('the connection of this transaction is closed')
  }
}

const isClosed = (error: unknown) =>
  String((error as { code?: unknown } | null)?.code).startsWith('CONNECTION_') ||
  ['57P01', '57P02', 'ECONNRESET', 'EPIPE'].includes(String((error as { code?: unknown } | null)?.code))

/** Never settles on a broken line: the driver, which waits for it in order to commit or roll back, has been told already. */
export async function unlessBroken<T>(line: Line, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work()
    return line.broken ? await never : result
  } catch (error) {
    if (isClosed(error)) return await never
    // Whoever was told of the break in the same moment may have thrown something else.
    await turn()
    if (line.broken) return await never
    throw error
  }
}

type Savepoint = (...given: unknown[]) => Promise<unknown>

/** Refuses what is asked for on a broken line. */
export function guard(sql: Sql, line: Line): Sql {
  const check = () => {
    if (line.broken) throw new BrokenLineError()
  }
  return new Proxy(sql, {
    apply(target, self, given) {
      check()
      return Reflect.apply(target as never, self, given)
    },
    get(target, key) {
      const value = Reflect.get(target, key)
      if (key === 'savepoint')
        return (...given: unknown[]) => {
          check()
          const work = given.pop() as (inner: Sql) => Promise<unknown>
          const inside = (inner: Sql) => unlessBroken(line, () => work(guard(inner, line)))
          return (value as Savepoint)(...given, inside)
        }
      if (key !== 'unsafe' && key !== 'file') return value
      return (...given: unknown[]) => {
        check()
        return (value as Savepoint)(...given)
      }
    },
  })
}
