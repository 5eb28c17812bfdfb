/**
 * Copies tables with COPY in text format. PostgreSQL 15 to 18 can read each other's text format, but not each other's binary format. A
 * column that a migration widens accepts old values as text. Compressed, both formats are about the same size.
 */
import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { copyIn as copyRowsIn } from '../copy-in.ts'
import { copyQuery } from '../db/sql.ts'
import { type ConnectionOptions, connect, type Sql, type TransactionSql } from '../db.ts'
import { type ContentEnd, qualifiedName, quoteIdentifier, type TableEnd, type TableEntry } from './manifest.ts'

/**
 * Settings that make the text of dates, numbers and bytes independent of the server's configuration, and disable its time limits for
 * statements.
 */
const sessionSettings = `
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local lock_timeout = '60s';
  set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres';
  set local timezone = 'UTC';
  set local extra_float_digits = 3;
  set local bytea_output = 'hex';
  set local standard_conforming_strings = on`

/** Runs work in a transaction on a connection of its own, then closes the connection. */
export async function runInTransaction<T>(
  connection: ConnectionOptions,
  mode: string,
  work: (sql: TransactionSql) => Promise<T>,
): Promise<T> {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup', statementSeconds: 0 })
  try {
    return await pool.begin(mode, async (sql) => {
      await sql.unsafe(sessionSettings)
      return await work(sql)
    })
  } finally {
    await pool.end({ timeout: 5 })
  }
}

const columnsOf = (columns: string[]) => columns.map(quoteIdentifier).join(', ')

/** Copies the rows of a query instead of the table, because PostgreSQL cannot copy a partitioned table directly. */
export function copyOut(sql: Sql, table: TableEntry): AsyncIterable<Buffer> {
  const query = `copy (select ${columnsOf(table.columns)} from ${qualifiedName(table)}) to stdout (format text, encoding 'UTF8')`
  const { runner, text } = copyQuery(sql.unsafe(query))
  return runner.copyOut(text)
}

export const copyIn = (sql: Sql, target: string, columns: string[], content: AsyncIterable<Buffer>) =>
  copyRowsIn(
    sql.unsafe(`copy ${target} (${columnsOf(columns)}) from stdin (format text, encoding 'UTF8')`),
    () => content,
  )

/** Counts and hashes the rows that pass through `stream`. In the text format, every row is one line. */
export function createRowMeter() {
  const hash = createHash('sha256')
  let rows = 0
  let bytes = 0
  return {
    stream: new Transform({
      transform(chunk: Buffer, _, done) {
        hash.update(chunk)
        bytes += chunk.length
        for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, newline + 1)) rows++
        done(null, chunk)
      },
    }),
    end: (): TableEnd => ({ rows, bytes, sha256: hash.digest('hex') }),
  }
}

/** Counts and hashes the bytes of a content. */
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
