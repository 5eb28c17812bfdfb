/** Returns a generator of numbers from 0 to below 1 that repeats the same sequence for the same seed. */
export function seededRandom(seed: number) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Returns a generator of integers from 0 to `below - 1`. */
export function seededInteger(seed: number) {
  const random = seededRandom(seed)
  return (below: number) => Math.floor(random() * below)
}
