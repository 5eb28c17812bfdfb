/** Returns milliseconds that never decrease. The sandbox imports nothing of the platform, so it has a clock of its own. */
export const monotonicMs = () => performance.now()

/** Returns the milliseconds since 1970. It follows the clock of the system, which may be set, or go on while the machine sleeps. */
export const wallClockMs = () => Date.now()
