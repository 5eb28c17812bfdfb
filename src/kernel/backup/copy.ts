/**
 * COPY in text form: PostgreSQL 15 to 18 read each other's, which the binary form does not promise, and a column whose
 * type a migration widens still takes its old values. Compressed, the difference in size is small.
 */
import { createHash } from 'node:crypto'
import { type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ConnectionOptions, connect, type Sql } from '../db.ts'
import { type ContentEnd, nameOf, quoted, type TableEnd, type TableEntry } from './manifest.ts'

/** The texts of dates, numbers and bytes do not depend on how somebody configured the server; nothing is cut short. */
const steady = `
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local lock_timeout = '60s';
  set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres';
  set local timezone = 'UTC';
  set local extra_float_digits = 3;
  set local bytea_output = 'hex';
  set local standard_conforming_strings = on`

/** A connection and a transaction of its own; whatever fails inside, the connection ends and with it the transaction. */
export async function transaction<T>(
  connection: ConnectionOptions,
  mode: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup' })
  let failure: { error: unknown } | undefined
  try {
    return (await pool.begin(mode, async (sql) => {
      try {
        await sql.unsafe(steady)
        return await work(sql)
      } catch (error) {
        failure = { error }
        // A COPY that was left in the middle would keep the driver waiting for a rollback that is never sent.
        await pool.end({ timeout: 0 })
        throw error
      }
    })) as T
  } catch (error) {
    throw failure ? failure.error : error
  } finally {
    await pool.end({ timeout: 5 })
  }
}

const columnsOf = (columns: string[]) => columns.map(quoted).join(', ')

/** A partitioned table can only be copied as a query. */
export async function* copyOut(sql: Sql, table: TableEntry): AsyncGenerator<Buffer> {
  const query = `copy (select ${columnsOf(table.columns)} from ${nameOf(table)}) to stdout (format text, encoding 'UTF8')`
  const rows: Readable = await sql.unsafe(query).readable()
  // The driver pushes row by row; read like this, they come joined, as many as have arrived.
  for await (const chunk of rows) yield chunk
  // Where the last rows filled its buffer, the driver has paused the socket and nobody would let it go on: the next
  // answer would never be read. Its `_read` does nothing but resume the socket.
  rows._read(0)
}

export async function copyIn(sql: Sql, target: string, columns: string[], content: AsyncIterable<Buffer>) {
  const query = sql.unsafe(`copy ${target} (${columnsOf(columns)}) from stdin (format text, encoding 'UTF8')`)
  // The driver forgets the stream once all was sent: an error that the server finds after that reaches nobody but the
  // query, which has been resolved with the stream long ago. So listen there.
  const watched = query as unknown as { reject(error: unknown): void }
  const reject = watched.reject
  const failed = new Promise<never>((_, fail) => {
    watched.reject = (error) => {
      fail(error)
      reject(error)
    }
  })
  failed.catch(() => {})
  const stream: Writable = await query.writable()
  await Promise.race([pipeline(content, stream), failed])
}

/** Counts and sums up what flows through; every row of the text form is one line. */
export function createMeter() {
  const hash = createHash('sha256')
  let rows = 0
  let bytes = 0
  return {
    stream: new Transform({
      transform(chunk: Buffer, _, done) {
        hash.update(chunk)
        bytes += chunk.length
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows++
        done(null, chunk)
      },
    }),
    end: (): TableEnd => ({ rows, bytes, sha256: hash.digest('hex') }),
  }
}

export function createContentMeter() {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    add(piece: Uint8Array) {
      hash.update(piece)
      bytes += piece.length
    },
    end: (): ContentEnd => ({ bytes, sha256: hash.digest('hex') }),
  }
}
