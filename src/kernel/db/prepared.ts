/** Prepared statements of one connection: their names, the shape of their rows, and a bound on their number. */

import { type RowOf, rowMaker } from './rows.ts'
import type { StatementText } from './sql.ts'

export interface Field {
  name: string
  dataTypeID: number
}

export interface PreparedStatement {
  readonly text: StatementText
  readonly name: string
  /** Known once the server has described it; PostgreSQL refuses to run it when its columns have changed. */
  rowOf: RowOf | undefined
  usedLately: boolean
}

export interface Prepared {
  find(text: StatementText): PreparedStatement | undefined
  /** The names of statements to close, as there are too many or as they failed, are added to `closed`. */
  add(text: StatementText): PreparedStatement
  /** It failed while it was prepared, or its tables changed. */
  forget(statement: PreparedStatement): void
  /** Names that the server may forget, each once. */
  takeClosed(): string[]
  describe(fields: readonly Field[]): RowOf
}

/** Users' queries and lists of any length make new texts; the server keeps about 20 KB for each. */
const statementsMax = 256

const none: string[] = []

export function createPrepared(rowName: (column: string) => string): Prepared {
  const known = new Map<StatementText, PreparedStatement>()
  let closed: string[] = none
  let count = 0

  const close = (name: string) => {
    if (closed === none) closed = []
    closed.push(name)
  }

  /** Second chance: the oldest that was not used since the last time. */
  function evict() {
    for (const [text, statement] of known) {
      known.delete(text)
      if (!statement.usedLately) {
        close(statement.name)
        return
      }
      statement.usedLately = false
      known.set(text, statement)
    }
  }

  return {
    find(text) {
      const statement = known.get(text)
      if (statement) statement.usedLately = true
      return statement
    },
    add(text) {
      if (known.size >= statementsMax) evict()
      const statement = { text, name: `s${++count}`, rowOf: undefined, usedLately: false }
      known.set(text, statement)
      return statement
    },
    forget(statement) {
      if (known.get(statement.text) === statement) known.delete(statement.text)
      close(statement.name)
    },
    takeClosed() {
      const names = closed
      closed = none
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
