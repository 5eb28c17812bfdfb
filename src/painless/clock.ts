/** Returns monotonic milliseconds, which measure the limits of a script. */
export const monotonicMilliseconds = (): number => performance.now()

/** Returns the time of day in milliseconds since 1970. */
export const epochMilliseconds = (): number => Date.now()
