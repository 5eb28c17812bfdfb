/** Runs work once for all callers that request the same key at the same time. The result is not cached. */
export function createSingleFlight<V>() {
  const running = new Map<string, Promise<V>>()
  return (key: string, work: () => Promise<V>): Promise<V> => {
    const current = running.get(key)
    if (current) return current
    const remove = () => {
      if (running.get(key) === promise) running.delete(key)
    }
    const promise = work()
    running.set(key, promise)
    promise.then(remove, remove)
    return promise
  }
}
