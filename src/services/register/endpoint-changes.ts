/**
 * Reports every registration, change and deletion of an endpoint to listeners, within the transaction of the change. Data
 * that depends on an endpoint's version and metadata, such as the members of filters, is updated by a listener.
 */
import type { Sql } from '../../kernel/db.ts'

export interface EndpointState {
  versionName: string
  /** The metadata that readers see, with the connectivity keys. */
  metadata: Record<string, unknown>
}

export interface EndpointChange {
  tenantId: string
  applicationName: string
  endpointId: string
  /** The position in lists; it never changes while the endpoint exists. */
  seq: number
  /** Absent for a registration and for a deletion. */
  before?: EndpointState
  /** Absent for a deletion. */
  after?: EndpointState
}

export type ChangeListener = (sql: Sql, changes: EndpointChange[]) => Promise<void>

export interface Changes {
  listen(listener: ChangeListener): void
  /** Returns false if nothing listens, so that callers need not collect the states. */
  hasListeners(): boolean
  notify(sql: Sql, changes: EndpointChange[]): Promise<void>
}

export function createChanges(): Changes {
  const listeners: ChangeListener[] = []
  return {
    listen: (listener) => void listeners.push(listener),
    hasListeners: () => listeners.length > 0,
    async notify(sql, changes) {
      if (changes.length > 0) for (const listener of listeners) await listener(sql, changes)
    },
  }
}
