/** Writes a search in the language of the search engine. The result is built from the parsed search, never from the caller's text. */
import type { Aggregation, Grouping } from '../query/aggregations.ts'
import type { Bound, Clause } from '../query/clauses.ts'
import type { SearchRequest } from '../query/request.ts'
import { ownField } from './names.ts'

type Dsl = Record<string, unknown>

function boundValue(field: string, { number, date, text }: Bound): unknown {
  if (field === '@timestamp' && date !== undefined) return new Date(date).toISOString()
  if (text === undefined) return number
  return date === undefined || number !== undefined ? text : new Date(date).toISOString()
}

export function queryOf(clause: Clause): Dsl {
  switch (clause.kind) {
    case 'all':
      return { match_all: {} }
    case 'none':
      return { match_none: {} }
    case 'terms':
      return { terms: { [clause.field]: clause.values } }
    case 'range':
      if (clause.bounds.length === 0) return { exists: { field: clause.field } }
      return {
        range: {
          [clause.field]: Object.fromEntries(
            clause.bounds.map(([comparison, bound]) => [comparison, boundValue(clause.field, bound)]),
          ),
        },
      }
    case 'exists':
      return { exists: { field: clause.field } }
    case 'prefix':
      return {
        prefix: {
          [clause.field]: { value: clause.value, ...(clause.ignoreCase && { case_insensitive: true }) },
        },
      }
    case 'match':
      return { match: { [clause.field]: { query: clause.value, operator: clause.needsAll ? 'and' : 'or' } } }
    case 'ids':
      return { ids: { values: clause.values } }
    case 'bool':
      return {
        bool: {
          must: clause.must.map(queryOf),
          must_not: clause.mustNot.map(queryOf),
          should: clause.should.map(queryOf),
          minimum_should_match: clause.minimum,
        },
      }
  }
}

function groupingOf(grouping: Grouping): Dsl {
  if (grouping.kind === 'terms') {
    const { field, size, minimum, order, missing } = grouping
    return {
      terms: {
        field,
        size,
        min_doc_count: minimum,
        order: order.map(({ by, descending }) => ({ [by]: descending ? 'desc' : 'asc' })),
        ...(missing !== undefined && { missing }),
      },
    }
  }
  const { field, minimum, bounds, keyed } = grouping
  const common = { field, min_doc_count: minimum, keyed, ...(bounds && { extended_bounds: bounds }) }
  if (grouping.kind === 'histogram')
    return { histogram: { ...common, interval: grouping.interval, offset: grouping.offset } }
  const { interval, offsetMs, timeZone } = grouping
  return {
    date_histogram: {
      ...common,
      ...(typeof interval === 'number' ? { fixed_interval: `${interval}ms` } : { calendar_interval: interval }),
      offset: `${offsetMs}ms`,
      time_zone: timeZone === 'Z' ? 'UTC' : timeZone,
    },
  }
}

export const aggregationsOf = (aggregations: Aggregation[]): Dsl =>
  Object.fromEntries(
    aggregations.map(({ name, definition }) => [
      name,
      'metric' in definition
        ? { [definition.metric]: { field: definition.field } }
        : {
            ...groupingOf(definition.grouping),
            ...(definition.below.length > 0 && { aggs: aggregationsOf(definition.below) }),
          },
    ]),
  )

/** Returns the body of a search. Every hit must also match the filter `permitted`. */
export function bodyOf(request: SearchRequest, permitted: Dsl): Dsl {
  const { query, postFilter, from, size, sort, source, countMax, aggregations } = request
  const filter = typeof source === 'object' ? source : { includes: [], excludes: [] }
  return {
    query: { bool: { filter: [permitted], must: [queryOf(query)] } },
    ...(postFilter && { post_filter: queryOf(postFilter) }),
    from,
    size,
    ...(sort.length > 0 && {
      sort: sort.map(({ field, descending, missingFirst }) =>
        field.startsWith('_')
          ? { [field]: descending ? 'desc' : 'asc' }
          : {
              [field]: {
                order: descending ? 'desc' : 'asc',
                missing: missingFirst ? '_first' : '_last',
                unmapped_type: 'long',
              },
            },
      ),
    }),
    _source: source === false ? false : { includes: filter.includes, excludes: [...filter.excludes, ownField] },
    track_total_hits: countMax === 0 ? false : Number.isFinite(countMax) ? countMax : true,
    ...(aggregations.length > 0 && { aggs: aggregationsOf(aggregations) }),
  }
}
