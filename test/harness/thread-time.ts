/** Processor time of this thread: unlike the time on the wall, it does not depend on how busy the machine is. */

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The least of several runs, until it is below `enoughMs`: the first ones compile, and any may meet a garbage collection. */
export function threadCpuMs(work: () => void, enoughMs = 0, runs = 3): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs && least >= enoughMs; run++) {
    const began = cpuMs()
    work()
    least = Math.min(least, cpuMs() - began)
  }
  return least
}

/** The longest that this thread works without going back to the event loop, until the promise settles; give or take 1 ms. */
export async function longestStallMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = cpuMs()
  const tick = () => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  // The next timer is due when the loop comes around: a stall is what happens between two of them.
  const timer = setInterval(tick, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
    tick()
  }
  return longest
}
