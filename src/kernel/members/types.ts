import type { Sql } from '../db.ts'

export interface Member {
  id: string
  version: string
  startedAt: Date
  addresses: Record<string, string>
}

/** Rows that belong to a node and are void when it dies. */
export interface Leftovers {
  /** As in `gateway.bindings`; for logs. */
  name: string
  /** Ids of all nodes that have such rows: finds those of nodes that have no row in `kernel.nodes`, as after a restore. */
  owners(sql: Sql): Promise<string[]>
  /** Ends what the dead node left, in transactions of its own. Runs on one node at a time, and again after a failure. */
  sweep(nodeId: string): Promise<void>
}
