/** The cached series of an application, and its sets: the combinations of series that share a row of samples. Entries are never removed. */
import type { Db } from '../../../kernel/db.ts'
import * as store from '../store/numbers.ts'
import { fieldOf } from './field.ts'

export interface ApplicationSets {
  /** Series ids by field. */
  series: Map<string, number>
  /** Sets by the key of their fields (`keyOf`). Each value is a list of one set, because `findSetsOf` returns lists. */
  sets: Map<string, store.SeriesSet[]>
  /** Number of series that may still be created; valid until `remainingValidUntil`. */
  remainingSeries: number
  remainingValidUntil: number
}

/** Maximum number of sets of an application. For further combinations of fields, each field is stored as a row of its own. */
export const setsMax = 2000
/** Maximum number of series in a set, because an index entry of PostgreSQL can hold a list of about 670 numbers. */
const fieldsOfSetMax = 500

export const keyOf = (fields: string[]) => fields.join('\t')

export async function loadApplicationSets(
  db: Db,
  application: store.Application,
  onSet: (set: store.SeriesSet, fields: string[]) => void,
): Promise<ApplicationSets> {
  const [series, sets] = await Promise.all([store.findSeries(db.sql, application), store.findSets(db.sql, application)])
  const fields = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, fieldOf(name, valueName)]))
  const loaded: ApplicationSets = {
    series: new Map([...fields].map(([seriesId, field]) => [field, seriesId])),
    sets: new Map(),
    remainingSeries: 0,
    remainingValidUntil: 0,
  }
  for (const set of sets) {
    const setFields = set.seriesIds.map((id) => fields.get(id)!)
    onSet(set, setFields)
    // Older versions accepted names with a tab. A set with such a name could have the same key as another set.
    if (keyOf(setFields).split('\t').length === setFields.length) loaded.sets.set(keyOf(setFields), [set])
  }
  return loaded
}

/**
 * Returns the sets that contain these fields in order, or undefined if one of the sets is unknown. With `maySplit`, each field may be in a
 * set of its own.
 */
export function findSetsOf(
  known: ApplicationSets,
  fields: string[],
  maySplit = known.sets.size >= setsMax,
): store.SeriesSet[] | undefined {
  const complete = fields.length <= fieldsOfSetMax ? known.sets.get(keyOf(fields)) : undefined
  if (complete) return complete
  const sets: store.SeriesSet[] = []
  for (const part of partsOf(fields)) {
    const setsOfPart = known.sets.get(keyOf(part))
    if (!setsOfPart && !maySplit) return undefined
    for (const set of setsOfPart ?? part.map((field) => known.sets.get(field)?.[0])) {
      if (!set) return undefined
      sets.push(set)
    }
  }
  return sets
}

/** Returns the lists of fields for which sets have to be created. */
export function missingSets(applicationSets: ApplicationSets, lists: string[][]): string[][] {
  const missing = new Map<string, string[]>()
  for (const part of lists.flatMap(partsOf)) {
    if (applicationSets.sets.has(keyOf(part))) continue
    const mayCombine = part.length === 1 || applicationSets.sets.size + missing.size < setsMax
    for (const fields of mayCombine ? [part] : part.map((field) => [field]))
      if (!applicationSets.sets.has(keyOf(fields))) missing.set(keyOf(fields), fields)
  }
  return [...missing.values()]
}

function partsOf(fields: string[]): string[][] {
  if (fields.length <= fieldsOfSetMax) return [fields]
  const parts: string[][] = []
  for (let from = 0; from < fields.length; from += fieldsOfSetMax) parts.push(fields.slice(from, from + fieldsOfSetMax))
  return parts
}
