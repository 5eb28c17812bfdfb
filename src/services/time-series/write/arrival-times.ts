/**
 * Assigns a time to samples without a timestamp: the time of arrival, or the next millisecond that the endpoint has not used (document 5,
 * 10.3). The database detects conflicts with other nodes.
 */
export interface ArrivalTimes {
  next(endpointNo: number, arrivedAt: number): number
  /** Records that the endpoint has used all times up to this time, on another node or before a restart. */
  used(endpointNo: number, time: number): void
}

/** Number of entries at which the first sweep runs. */
export const sweepFrom = 8192

export function createArrivalTimes(): ArrivalTimes & { readonly size: number } {
  const lastTimes = new Map<number, number>()
  let sweepAt = sweepFrom

  /** Removes entries whose millisecond has passed. */
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
