/** A signal for one request. */

/**
 * Runs a request with a signal of its own, which ends with the given one. A page refers to its signal, to read the next page, and the
 * signal of a query refers to the pages before: with that one, each page would keep all pages that were read before it in memory.
 */
export async function untilAborted<T>(
  signal: AbortSignal | undefined,
  request: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const cancel = () => controller.abort(signal?.reason)
  if (signal?.aborted) cancel()
  signal?.addEventListener('abort', cancel)
  try {
    return await request(controller.signal)
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}
