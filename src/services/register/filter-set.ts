/** All filters of an application, compiled: which of them a change of an endpoint lets match, or match no more. Pure. */
import type { EndpointChange, EndpointState } from './changes.ts'
import { compile } from './document-query/evaluate.ts'
import { dependsOnVersion, keysOf } from './document-query/keys.ts'
import { parse } from './document-query/parse.ts'
import type { JsonObject } from './document-query/query.ts'

export interface FilterOfSet {
  filterId: string
  memberSet: number
  pending: boolean
}

export interface FilterMove {
  filter: FilterOfSet
  endpointId: string
  seq: number
  matched: boolean
}

export interface FilterSet {
  filters: FilterOfSet[]
  movesOf(change: EndpointChange): FilterMove[]
}

interface Compiled extends FilterOfSet {
  matches(state: EndpointState): boolean
}

export function createFilterSet(given: (FilterOfSet & { documentQuery: JsonObject })[]): FilterSet {
  const filters: Compiled[] = []
  // Hundreds of filters, and a change of one key: only those that speak of it are asked.
  const byKey = new Map<string, Compiled[]>()
  const byAnyKey: Compiled[] = []
  const byVersion: Compiled[] = []
  for (const { documentQuery, filterId, memberSet, pending } of given) {
    const query = parse(documentQuery)
    const condition = compile(query)
    const matches = ({ versionName, metadata }: EndpointState) =>
      condition({ versionName, metadata: metadata as JsonObject })
    const filter: Compiled = { filterId, memberSet, pending, matches }
    filters.push(filter)
    const keys = keysOf(query)
    if (keys === 'any') byAnyKey.push(filter)
    else for (const key of keys) byKey.set(key, [...(byKey.get(key) ?? []), filter])
    if (dependsOnVersion(query)) byVersion.push(filter)
  }

  function affected(before: EndpointState, after: EndpointState): Iterable<Compiled> {
    const keys = changedKeys(before.metadata, after.metadata)
    const found = new Set<Compiled>(keys.length > 0 ? byAnyKey : [])
    for (const key of keys) for (const filter of byKey.get(key) ?? []) found.add(filter)
    if (before.versionName !== after.versionName) for (const filter of byVersion) found.add(filter)
    return found
  }

  return {
    filters,
    movesOf({ endpointId, seq, before, after }) {
      if (!after) return []
      const moves: FilterMove[] = []
      for (const filter of before ? affected(before, after) : filters) {
        const matched = filter.matches(after)
        if (matched !== (before !== undefined && filter.matches(before)))
          moves.push({ filter, endpointId, seq, matched })
      }
      return moves
    },
  }
}

/** At least those: an equal object in another place counts as changed, which only costs a question more. */
function changedKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  if (before === after) return []
  const changed = Object.keys(after).filter((key) => !Object.hasOwn(before, key) || before[key] !== after[key])
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed.push(key)
  return changed
}
