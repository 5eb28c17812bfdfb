/** The time as a value: whoever needs it is handed a clock, so that a test can hold another. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** Milliseconds that only ever grow: for durations, never for dates. */
export const monotonicMs = () => performance.now()

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
