/** The newest samples that may be missing in the table `latest`, by endpoint. The oldest entry is first. */
import type { Value } from '../points.ts'
import type { Rows } from './rows.ts'

export interface NewestSample {
  setId: number
  ts: number
  written: number
  values: Value[]
}

export interface UnsavedOfEndpoint {
  /** The number, in the order of writes, of the endpoint's first sample that may be missing in the table. */
  since: number
  /** The newest sample of each set. */
  newest: NewestSample[]
}

export type UnsavedLatest = Map<number, UnsavedOfEndpoint>

export function addRows(unsaved: UnsavedLatest, { endpointNos, sets, times, writtenTimes, values }: Rows) {
  for (let row = 0; row < times.length; row++)
    addSample(unsaved, endpointNos[row]!, sets[row]!.setId, times[row]!, writtenTimes[row]!, values[row]!)
}

/** Adds back samples that could not be saved. */
export function addAll(unsaved: UnsavedLatest, failed: UnsavedLatest) {
  for (const [endpointNo, { newest, since }] of failed) {
    for (const one of newest) addSample(unsaved, endpointNo, one.setId, one.ts, one.written, one.values)
    const newestOfEndpoint = unsaved.get(endpointNo)!
    newestOfEndpoint.since = Math.min(newestOfEndpoint.since, since)
  }
}

function addSample(
  unsaved: UnsavedLatest,
  endpointNo: number,
  setId: number,
  ts: number,
  written: number,
  values: Value[],
) {
  let newestOfEndpoint = unsaved.get(endpointNo)
  if (!newestOfEndpoint) {
    newestOfEndpoint = { since: written, newest: [] }
    unsaved.set(endpointNo, newestOfEndpoint)
  }
  if (written < newestOfEndpoint.since) newestOfEndpoint.since = written
  for (const newest of newestOfEndpoint.newest)
    if (newest.setId === setId) {
      if (ts > newest.ts || (ts === newest.ts && written > newest.written)) {
        newest.ts = ts
        newest.written = written
        newest.values = values
      }
      return
    }
  newestOfEndpoint.newest.push({ setId, ts, written, values })
}

/** Removes and returns the oldest entries. */
export function takeOldest(unsaved: UnsavedLatest, count: number): UnsavedLatest {
  const taken: UnsavedLatest = new Map()
  for (const [endpointNo, own] of unsaved) {
    if (taken.size >= count) break
    taken.set(endpointNo, own)
    unsaved.delete(endpointNo)
  }
  return taken
}
