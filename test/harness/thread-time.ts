/** Measures CPU time of this thread. Unlike elapsed time, it does not depend on the load of the machine. */

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * Returns the CPU time of the fastest of several runs, because compilation and garbage collection slow down single runs. After a run
 * below `enoughMs`, no further run follows.
 */
export function threadCpuMs(work: () => void, enoughMs = 0, runs = 3): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs && least >= enoughMs; run++) {
    const began = cpuMs()
    work()
    least = Math.min(least, cpuMs() - began)
  }
  return least
}

/**
 * Starts to watch the event loop. `longestMs` returns the longest time for which the loop was blocked since the last call, with a precision
 * of 1 ms.
 */
export function watchStalls() {
  let longest = 0
  let last = cpuMs()
  const tick = () => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  // The timer fires at most once per turn of the event loop, so the processor time between two ticks is the length of a stall.
  const timer = setInterval(tick, 1)
  return {
    longestMs(): number {
      tick()
      const found = longest
      longest = 0
      return found
    },
    stop: () => clearInterval(timer),
  }
}

/** Returns the longest time for which the work blocks the event loop, with a precision of 1 ms. */
export async function longestStallMs(work: () => Promise<unknown>): Promise<number> {
  const stalls = watchStalls()
  try {
    await work()
    return stalls.longestMs()
  } finally {
    stalls.stop()
  }
}
