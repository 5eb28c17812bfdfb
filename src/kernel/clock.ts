/** Returns the current time. Code that needs the time is given a clock, so that tests can replace it. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Returns milliseconds that never decrease: for durations, not for dates. */
export const monotonicMs = () => performance.now()

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
