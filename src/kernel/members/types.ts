import type { Sql } from '../db.ts'

export interface Member {
  id: string
  version: string
  startedAt: Date
  addresses: Record<string, string>
}

/** Rows that belong to a node and become void when it dies. */
export interface OwnedRows {
  /** A name for logs, such as `gateway.bindings`. */
  name: string
  /** Returns the ids of all nodes that have such rows, to find those without a row in `kernel.nodes`, as after a restore. */
  owners(sql: Sql): Promise<string[]>
  /** Cleans up the rows of a dead node, in transactions of its own. Runs on one node at a time, and again after a failure. */
  sweep(nodeId: string): Promise<void>
}
