/**
 * Evaluates all filters of an application when an endpoint changes, to find which of them begin or cease to match. All functions are pure.
 */

import { compile } from '../document-query/evaluate.ts'
import { dependsOnVersion, keysOf } from '../document-query/keys.ts'
import { parse } from '../document-query/parse.ts'
import type { JsonObject, Query } from '../document-query/query.ts'
import type { EndpointChange, EndpointState } from '../endpoint-changes.ts'
import type { StoredQuery } from './store/filters.ts'

/** A filter with the number of the set that stores its members. */
export interface FilterRefInSet {
  filterId: string
  memberSet: number
  pending: boolean
}

/** A change of a match: an endpoint begins to match a filter (`matched` is true) or ceases to match it. */
export interface MatchTransition {
  filter: FilterRefInSet
  endpointId: string
  seq: number
  matched: boolean
}

export interface FilterWithQuery extends FilterRefInSet {
  query: Query
}

export interface FilterSet {
  filters: FilterRefInSet[]
  /** Total size of all patterns. */
  patternSize: number
  /**
   * Evaluates the filters that the change affects. `hasTime` returns false when the time for this endpoint is used up. `costly` contains
   * the filters that the database must evaluate instead, because their patterns could take long or no time is left.
   */
  transitionsOf(
    change: EndpointChange,
    hasTime: () => boolean,
  ): { transitions: MatchTransition[]; costly: FilterWithQuery[] }
}

interface Compiled extends FilterWithQuery {
  keys: Set<string> | 'any'
  matches(state: EndpointState): boolean
}

/** Limits the steps of the regular expression engine to about 10 ms in the worst case; most patterns take 0.1 ms. */
const stepsMax = 300_000

export function createFilterSet(stored: (FilterRefInSet & { documentQuery: JsonObject })[]): FilterSet {
  const filters: Compiled[] = []
  // Filters are indexed by key, so that a change of one key evaluates only the filters that use it.
  const byKey = new Map<string, Compiled[]>()
  const byAnyKey: Compiled[] = []
  const byVersion: Compiled[] = []
  for (const { documentQuery, filterId, memberSet, pending } of stored) {
    const query = parse(documentQuery)
    const condition = compile(query)
    const matches = ({ versionName, metadata }: EndpointState) =>
      condition({ versionName, metadata: metadata as JsonObject })
    const keys = keysOf(query)
    const filter: Compiled = { filterId, memberSet, pending, query, keys, matches }
    filters.push(filter)
    if (keys === 'any') byAnyKey.push(filter)
    else for (const key of keys) byKey.set(key, [...(byKey.get(key) ?? []), filter])
    if (dependsOnVersion(query)) byVersion.push(filter)
  }

  function affectedFilters(before: EndpointState, after: EndpointState): Iterable<Compiled> {
    const keys = changedKeys(before.metadata, after.metadata)
    const affected = new Set<Compiled>(keys.length > 0 ? byAnyKey : [])
    for (const key of keys) for (const filter of byKey.get(key) ?? []) affected.add(filter)
    if (before.versionName !== after.versionName) for (const filter of byVersion) affected.add(filter)
    return affected
  }

  return {
    filters,
    patternSize: filters.reduce((sum, { query }) => sum + query.patternSize, 0),
    transitionsOf({ endpointId, seq, before, after }, hasTime) {
      const transitions: MatchTransition[] = []
      const costly: FilterWithQuery[] = []
      if (!after) return { transitions, costly }
      const lengths = [after, ...(before ? [before] : [])].map(createTextLengths)
      const isCheap = ({ query: { patternSize }, keys }: Compiled) =>
        patternSize === 0 || (lengths.every((length) => patternSize * length(keys) <= stepsMax) && hasTime())
      for (const filter of before ? affectedFilters(before, after) : filters) {
        if (!isCheap(filter)) {
          costly.push(filter)
          continue
        }
        const matched = filter.matches(after)
        if (matched !== (before !== undefined && filter.matches(before)))
          transitions.push({ filter, endpointId, seq, matched })
      }
      return { transitions, costly }
    },
  }
}

/**
 * Returns the keys whose values differ. Values are compared by identity, so a new object counts as changed even if it equals the old one.
 * That costs an evaluation, but does not change the result.
 */
function changedKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  if (before === after) return []
  const changed = Object.keys(after).filter((key) => !Object.hasOwn(before, key) || before[key] !== after[key])
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed.push(key)
  return changed
}

/** Returns a function that computes how much text the patterns on given keys read. The text length of each key is cached. */
function createTextLengths({ versionName, metadata }: EndpointState) {
  const lengthByKey = new Map<string, number>()
  const lengthOf = (key: string) => {
    let length = lengthByKey.get(key)
    if (length === undefined) {
      length = Object.hasOwn(metadata, key) ? key.length + textLength(metadata[key]) : 0
      lengthByKey.set(key, length)
    }
    return length
  }
  return (keys: Set<string> | 'any') => {
    let sum = versionName.length
    for (const key of keys === 'any' ? Object.keys(metadata) : keys) sum += lengthOf(key)
    return sum
  }
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + textLength(inner), 0)
}

export interface CompiledFilters {
  read(applicationName: string, revision: number, load: () => Promise<StoredQuery[]>): Promise<FilterSet>
}

const cacheLimits = { applications: 200, patternSize: 60_000 }

/** Caches the compiled filters of applications by revision. A revision number is never reused. */
export function createCompiledFilters(): CompiledFilters {
  const sets = new Map<string, { revision: number; set: FilterSet }>()
  const patternSize = () => [...sets.values()].reduce((sum, { set }) => sum + set.patternSize, 0)
  return {
    async read(applicationName, revision, load) {
      const cached = sets.get(applicationName)
      // A Map keeps insertion order. The entry is deleted and inserted again, so that the least recently used entry is the first.
      sets.delete(applicationName)
      const set =
        cached?.revision === revision
          ? cached.set
          : createFilterSet((await load()).map(({ status, ...row }) => ({ ...row, pending: status === 'pending' })))
      // A concurrent load may have stored a newer revision meanwhile.
      const concurrent = sets.get(applicationName)
      if (!concurrent || concurrent.revision <= revision) sets.set(applicationName, { revision, set })
      while (sets.size > cacheLimits.applications || (sets.size > 1 && patternSize() > cacheLimits.patternSize))
        sets.delete(sets.keys().next().value!)
      return set
    },
  }
}
