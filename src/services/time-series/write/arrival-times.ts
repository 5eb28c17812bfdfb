/**
 * Gives samples without a timestamp their time: the time of arrival, or the next millisecond that the endpoint has not used. So the
 * times of an endpoint are distinct and increase (document 5, 10.3). A clash with another node is found by the database.
 */
export interface ArrivalTimes {
  next(endpointNo: number, arrivedAt: number): number
  /** The endpoint has used times up to this one, on another node or before a restart. */
  used(endpointNo: number, time: number): void
}

/** Entries in memory before the first sweep. */
export const sweepFrom = 8192

export function createArrivalTimes(): ArrivalTimes & { readonly size: number } {
  const lastTimes = new Map<number, number>()
  let sweepAt = sweepFrom

  /** An entry matters only until its millisecond is over. */
  function sweep(now: number) {
    for (const [endpointNo, time] of lastTimes) if (time < now) lastTimes.delete(endpointNo)
    sweepAt = Math.max(sweepFrom, lastTimes.size * 2)
  }

  return {
    get size() {
      return lastTimes.size
    },
    next(endpointNo, arrivedAt) {
      const last = lastTimes.get(endpointNo)
      const time = last !== undefined && last >= arrivedAt ? last + 1 : arrivedAt
      lastTimes.set(endpointNo, time)
      if (lastTimes.size > sweepAt) sweep(arrivedAt)
      return time
    },
    used(endpointNo, time) {
      if (time > (lastTimes.get(endpointNo) ?? Number.NEGATIVE_INFINITY)) lastTimes.set(endpointNo, time)
    },
  }
}
