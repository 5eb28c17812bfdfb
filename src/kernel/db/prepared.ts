/** Prepared statements of one connection: their names, the shape of their rows, and a limit on their number. */

import { type RowOf, rowMaker } from './rows.ts'
import type { StatementText } from './sql.ts'

export interface Field {
  name: string
  dataTypeID: number
}

export interface PreparedStatement {
  readonly text: StatementText
  readonly name: string
  /** Set when the server has described the rows. It stays valid, because PostgreSQL rejects the statement if its columns change. */
  rowOf: RowOf | undefined
  recentlyUsed: boolean
}

export interface Prepared {
  find(text: StatementText): PreparedStatement | undefined
  /** Adds a statement; evicts an older statement if there are too many. */
  add(text: StatementText): PreparedStatement
  /** Removes a statement that failed while it was prepared, or whose tables changed. */
  remove(statement: PreparedStatement): void
  /** Returns the names of statements that must be closed on the server. Each name is returned once. */
  takeNamesToClose(): string[]
  describe(fields: readonly Field[]): RowOf
}

/**
 * Maximum number of prepared statements. Queries of users and lists of varying length create new texts, and the server keeps 20 KB for
 * each.
 */
const statementsMax = 256

const noNames: string[] = []

export function createPrepared(rowName: (column: string) => string): Prepared {
  const statements = new Map<StatementText, PreparedStatement>()
  let namesToClose: string[] = noNames
  let count = 0

  const close = (name: string) => {
    if (namesToClose === noNames) namesToClose = []
    namesToClose.push(name)
  }

  /** Evicts the oldest statement that was not used since the last eviction (second-chance algorithm). */
  function evict() {
    for (const [text, statement] of statements) {
      statements.delete(text)
      if (!statement.recentlyUsed) {
        close(statement.name)
        return
      }
      statement.recentlyUsed = false
      statements.set(text, statement)
    }
  }

  return {
    find(text) {
      const statement = statements.get(text)
      if (statement) statement.recentlyUsed = true
      return statement
    },
    add(text) {
      if (statements.size >= statementsMax) evict()
      const statement = { text, name: `s${++count}`, rowOf: undefined, recentlyUsed: false }
      statements.set(text, statement)
      return statement
    },
    remove(statement) {
      if (statements.get(statement.text) === statement) statements.delete(statement.text)
      close(statement.name)
    },
    takeNamesToClose() {
      const names = namesToClose
      namesToClose = noNames
      return names
    },
    describe(fields) {
      return rowMaker(
        fields.map(({ name }) => rowName(name)),
        fields.map(({ dataTypeID }) => dataTypeID),
      )
    },
  }
}
