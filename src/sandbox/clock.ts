/** Returns milliseconds that never decrease. The sandbox imports nothing of the platform, so it has its own clock. */
export const monotonicMs = () => performance.now()

/** Returns the milliseconds since 1970 by the system clock. The clock may be changed, and continues while the machine sleeps. */
export const wallClockMs = () => Date.now()
