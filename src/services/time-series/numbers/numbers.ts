/** Numbers that stand for names in the tables: of endpoints, of series, and of sets of series. */
import type { Db } from '../../../kernel/db.ts'
import { createEndpointNumbers, type EndpointNumbers } from './endpoint-numbers.ts'
import { createSeriesSets, type SeriesSets } from './series-sets.ts'

export interface Numbers extends EndpointNumbers, SeriesSets {
  forgetAll(): void
}

export function createNumbers(db: Db, options: { seriesMax: number }): Numbers {
  const endpoints = createEndpointNumbers(db)
  const sets = createSeriesSets(db, options)
  return {
    ...endpoints,
    ...sets,
    forgetAll() {
      endpoints.forgetAllEndpoints()
      sets.forgetAllSets()
    },
  }
}
