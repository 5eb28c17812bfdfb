import { monotonicMs } from '../../kernel/clock.ts'
import type { Db, Sql } from '../../kernel/db.ts'
import { SearchTooLong } from './errors.ts'
import { searchSeconds } from './search/stream.ts'
import { limitStatements, snapshotReadOnly } from './store/units.ts'

const statementTimeoutCode = '57014'

/** Runs queries in one snapshot, so that a page and its total are consistent. The queries have a time limit. */
export async function inSnapshot<T>(db: Db, work: (sql: Sql, deadline: number) => Promise<T>): Promise<T> {
  const deadline = monotonicMs() + searchSeconds * 1000
  try {
    return (await db.sql.begin(snapshotReadOnly, async (sql) => {
      // This statement is not awaited before the work, to save a round trip. The connection runs its statements in order.
      const limited = limitStatements(sql, searchSeconds * 1000)
      const [result] = await Promise.all([work(sql, deadline), limited])
      return result
    })) as T
  } catch (error) {
    if ((error as { code?: string } | null)?.code === statementTimeoutCode)
      throw SearchTooLong({ seconds: searchSeconds })
    throw error
  }
}
