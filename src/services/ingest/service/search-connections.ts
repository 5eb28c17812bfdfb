/** Chooses the connections of a search, and how its statement is planned. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Plan } from '../store/search/documents.ts'

export interface SearchConnections {
  /** For searches whose statement is planned for its values. */
  db: Db
  /** For a search of one endpoint. */
  ofEndpoint(): { db: Db; plan: Plan }
}

/** A connection that is idle for longer is closed, with its plans. */
const pauseMs = 5000
/**
 * A plan for all values covers every partition, so making it takes as long as tens of plans for a few days. It pays only if searches of one
 * endpoint follow each other.
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
