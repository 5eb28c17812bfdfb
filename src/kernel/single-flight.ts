/** Runs work once for all who ask for the same key at the same time; nothing is kept afterwards. */
export function createSingleFlight<V>() {
  const running = new Map<string, Promise<V>>()
  return (key: string, work: () => Promise<V>): Promise<V> => {
    const known = running.get(key)
    if (known) return known
    const forget = () => {
      if (running.get(key) === promise) running.delete(key)
    }
    const promise = work()
    running.set(key, promise)
    promise.then(forget, forget)
    return promise
  }
}
