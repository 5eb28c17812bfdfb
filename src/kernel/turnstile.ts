/** So many at a time; the others wait for their turn, in the order in which they came. */
export function createTurnstile(max: number) {
  const waiting: (() => void)[] = []
  let inside = 0

  return async <T>(work: () => Promise<T>): Promise<T> => {
    // Whoever leaves hands over its place: nobody gets in between.
    if (inside < max) inside++
    else await new Promise<void>((enter) => waiting.push(enter))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else inside--
    }
  }
}
