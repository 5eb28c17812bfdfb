/** Returns the current time. Code that needs the time gets a clock as a parameter, so that tests can replace it. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Returns milliseconds that never decrease. They measure durations and are not dates. */
export const monotonicMs = () => performance.now()

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Resolves after this time, or earlier when the signal aborts. */
export const sleepUnlessAborted = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
