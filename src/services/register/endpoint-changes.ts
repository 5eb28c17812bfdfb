/**
 * Reports every registration, change and deletion of an endpoint to listeners, within the transaction of the change. A listener updates
 * data that depends on the endpoint's version and metadata, such as the members of filters.
 */
import type { Sql } from '../../kernel/db.ts'

export interface EndpointState {
  versionName: string
  /** The metadata that callers can read, including the connectivity keys. */
  metadata: Record<string, unknown>
}

export interface EndpointChange {
  tenantId: string
  applicationName: string
  endpointId: string
  /** The endpoint's position in lists. It never changes while the endpoint exists. */
  seq: number
  /** Absent for a registration and for a deletion. */
  before?: EndpointState
  /** Absent for a deletion. */
  after?: EndpointState
}

export type ChangeListener = (sql: Sql, changes: EndpointChange[]) => Promise<void>

/** Sends the first statement of a listener without waiting for its answer. */
export type PrepareChange = (sql: Sql, application: { tenantId: string; applicationName: string }) => void

export interface Changes {
  listen(listener: ChangeListener, prepare?: PrepareChange): void
  /**
   * Announces that `notify` will be called in this transaction. The first statements of listeners then share a round trip with the caller's
   * statement.
   */
  prepare: PrepareChange
  /** Returns false if nothing listens, so that callers need not collect the states. */
  hasListeners(): boolean
  notify(sql: Sql, changes: EndpointChange[]): Promise<void>
}

export function createChanges(): Changes {
  const listeners: ChangeListener[] = []
  const preparing: PrepareChange[] = []
  return {
    listen(listener, prepare) {
      listeners.push(listener)
      if (prepare) preparing.push(prepare)
    },
    prepare(sql, application) {
      for (const prepare of preparing) prepare(sql, application)
    },
    hasListeners: () => listeners.length > 0,
    async notify(sql, changes) {
      if (changes.length > 0) for (const listener of listeners) await listener(sql, changes)
    },
  }
}
