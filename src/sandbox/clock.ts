/** Returns milliseconds that never decrease. The sandbox imports nothing of the platform, so it has a clock of its own. */
export const monotonicMs = () => performance.now()
