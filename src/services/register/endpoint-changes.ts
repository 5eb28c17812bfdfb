/**
 * The one place where it is known that an endpoint came, changed or went. Who keeps something that follows from an
 * endpoint's version and metadata (the members of filters) listens here, within the transaction of the change.
 */
import type { Sql } from '../../kernel/db.ts'

export interface EndpointState {
  versionName: string
  /** As readers see it, with the connectivity keys. */
  metadata: Record<string, unknown>
}

export interface EndpointChange {
  tenantId: string
  applicationName: string
  endpointId: string
  /** The order of lists; it never changes while the endpoint exists. */
  seq: number
  /** Absent when the endpoint is new, and when it goes. */
  before?: EndpointState
  /** Absent when the endpoint goes. */
  after?: EndpointState
}

export type ChangeListener = (sql: Sql, changes: EndpointChange[]) => Promise<void>

export interface Changes {
  listen(listener: ChangeListener): void
  /** Whether telling is worth collecting the states for. */
  heard(): boolean
  tell(sql: Sql, changes: EndpointChange[]): Promise<void>
}

export function createChanges(): Changes {
  const listeners: ChangeListener[] = []
  return {
    listen: (listener) => void listeners.push(listener),
    heard: () => listeners.length > 0,
    async tell(sql, changes) {
      if (changes.length > 0) for (const listener of listeners) await listener(sql, changes)
    },
  }
}
