/**
 * Determines how often the node writes to its streams. A write costs about 100 µs in total. The more streams have events, the longer each
 * stream waits between two writes.
 */
export interface Pace {
  /** Number of streams whose next write is scheduled. */
  waiting: number
  /** Milliseconds between two writes to one stream. */
  intervalMs(): number
}

const intervalMsMin = 100
const intervalMsMax = 1000
/** Maximum number of writes to all streams of this node in a second. */
const writesPerSecond = 200

export function createPace(): Pace {
  const pace: Pace = {
    waiting: 0,
    intervalMs: () => Math.min(intervalMsMax, Math.max(intervalMsMin, (pace.waiting * 1000) / writesPerSecond)),
  }
  return pace
}
