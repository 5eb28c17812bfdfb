/** Chooses the connections of a search, and how its statement is planned. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Plan } from '../store/search/documents.ts'

export interface SearchConnections {
  /** Connections for searches whose statement PostgreSQL plans for its values at each execution. */
  db: Db
  /** Returns the connections and the kind of plan for a search in the documents of one endpoint. */
  ofEndpoint(): { db: Db; plan: Plan }
}

/** After a longer pause, searches are counted again from 1, because idle connections are closed and their plans are lost. */
const pauseMs = 5000
/**
 * Number of searches of one endpoint each before PostgreSQL makes one plan for all such searches. This plan covers every partition, so
 * making it takes as long as making tens of plans for single searches, which cover a few days.
 */
const searchesBefore = 20

export function createSearchConnections(open: Db['open'], max: number, statementSeconds: number): SearchConnections {
  const db = open({ max, name: 'waypost-search', statementSeconds })
  const planningOnce = open({ max, name: 'waypost-search-endpoint', plans: 'once', statementSeconds })
  let [searches, lastAt] = [0, 0]
  return {
    db,
    ofEndpoint() {
      const now = monotonicMs()
      searches = now - lastAt > pauseMs ? 1 : searches + 1
      lastAt = now
      return searches > searchesBefore ? { db: planningOnce, plan: 'ofEndpoint' } : { db, plan: 'forValues' }
    },
  }
}
