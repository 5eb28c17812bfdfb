/** Counts the transactions of an idle platform, by the statistics of the database. */
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import { connectEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { start } from '../platform.ts'

/** Time until the first periodic tasks after the start are done. */
const settleMs = 10_000

export async function idleTransactions(directory: string, seconds: number): Promise<number> {
  const platform = await start(directory)
  const connection = await connectEmbeddedPostgres(join(directory, 'postgres'))
  if (!connection) throw new Error('the embedded database does not run')
  const pool = connect(connection, { max: 1 })
  const count = async () => {
    const [row] = await pool<{ n: number }[]>`
      select (xact_commit + xact_rollback)::float8 as n from pg_stat_database where datname = current_database()`
    return row!.n
  }
  await sleep(settleMs)
  const before = await count()
  await sleep(seconds * 1000)
  // One of them is this query itself.
  const transactions = (await count()) - before - 1
  await pool.end()
  await platform.stop()
  return transactions / seconds
}
