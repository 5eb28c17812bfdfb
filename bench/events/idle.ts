/** Counts the transactions of idle nodes. PostgreSQL reports the number of transactions in its statistics. */
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { nodeDirectories } from '../../test/harness/platform.ts'
import { tcpProxy } from '../../test/harness/postgres-server.ts'
import { type StartedPlatform, startPlatform } from '../platform.ts'

/** Time until the first periodic tasks after the start are done. */
const settleMs = 10_000

/** Returns the transactions per second of one node, when `nodes` nodes share a database. */
export async function idleTransactions(directory: string, nodes: number, seconds: number): Promise<number> {
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  const { host, port, user, password, database } = server.connection
  const listener = await tcpProxy(() => ({ host, port }))
  const environment = {
    WAYPOST_DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${listener.port}/${database}`,
    WAYPOST_MASTER_KEY: 'the same for all of these nodes, of course',
  }
  const pool = connect(server.connection, { max: 1 })
  const count = async () => {
    const [row] = await pool<{ n: number }[]>`
      select (xact_commit + xact_rollback)::float8 as n from pg_stat_database where datname = current_database()`
    return row!.n
  }
  const started: StartedPlatform[] = []
  try {
    for (const directory of nodeDirectories(nodes)) started.push(await startPlatform(directory, environment))
    await sleep(settleMs)
    const before = await count()
    await sleep(seconds * 1000)
    // One of these transactions is the query that reads the count.
    return ((await count()) - before - 1) / seconds / nodes
  } finally {
    for (const node of started) await node.stop()
    await pool.end()
    listener.close()
    await server.stop()
  }
}
