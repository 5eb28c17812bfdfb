import type { Sql } from '../db.ts'

export interface Member {
  id: string
  version: string
  startedAt: Date
  addresses: Record<string, string>
}

/** Rows that belong to a node and become invalid when it dies. */
export interface OwnedRows {
  /** A name for logs, such as `gateway.bindings`. */
  name: string
  /**
   * Returns the ids of all nodes that have such rows. It is used to find nodes without a row in `kernel.nodes`, for example after a
   * restore.
   */
  owners(sql: Sql): Promise<string[]>
  /** Cleans up the rows of a dead node, in its own transactions. Runs on one node at a time, and runs again after a failure. */
  sweep(nodeId: string): Promise<void>
}
