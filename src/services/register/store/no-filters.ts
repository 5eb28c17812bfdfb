import type { FilterIndex } from '../filter-index.ts'

/** A register without filters. */
export const noFilters: FilterIndex = {
  find: async () => [],
  members: (sql) => sql`select 0::bigint as seq where false`,
  idsOf: async () => new Map(),
}
