import type { Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Visibility } from '../lists/query.ts'
import type { FilterIndex, FilterSummary } from './filter-index.ts'

/**
 * Throws a 400 unless all filters exist and are active. For a caller that may read no endpoint of a filter's application, the filter does
 * not exist. Callers with a permission on a single endpoint may use every filter, because only such an endpoint can be in their results.
 */
export async function requireActiveFilters(
  { filters, sql }: { filters: FilterIndex; sql: Sql },
  { tenantId, visibility, filterIds }: { tenantId: string; visibility: Visibility; filterIds: string[] },
  field: string,
): Promise<FilterSummary[]> {
  const isVisible = ({ applicationName }: FilterSummary) =>
    visibility === 'all' || visibility.endpointIds.length > 0 || visibility.applicationNames.includes(applicationName)
  const summaries = (await filters.find(sql, tenantId, filterIds)).filter(isVisible)
  for (const filterId of filterIds) {
    const filter = summaries.find((one) => one.filterId === filterId)
    if (!filter) throw invalidField(field, `there is no filter ${filterId}`)
    if (filter.status !== 'active')
      throw invalidField(field, `filter ${filterId} is still being matched; try again when its status is active`)
  }
  return summaries
}
