/** Returns milliseconds of a clock that only moves forward; the limits of a script are measured with it. */
export const monotonicMilliseconds = (): number => performance.now()

/** Returns the time of day in milliseconds since 1970. */
export const epochMilliseconds = (): number => Date.now()
