/** Numbers that stand for endpoints, series and sets of series in the tables. */
import type { Db } from '../../../kernel/db.ts'
import { createEndpointNumbers, type EndpointNumbers } from './endpoint-numbers.ts'
import { createSeriesSets, type SeriesSets } from './series-sets.ts'

export interface Numbers extends EndpointNumbers, SeriesSets {
  invalidateAll(): void
}

export function createNumbers(db: Db, options: { seriesMax: number }): Numbers {
  const endpoints = createEndpointNumbers(db)
  const sets = createSeriesSets(db, options)
  return {
    ...endpoints,
    ...sets,
    invalidateAll() {
      endpoints.invalidateAllEndpoints()
      sets.invalidateAllSets()
    },
  }
}
