/** Runs a request with a signal of its own, so that its result does not keep other results in memory. */

/**
 * Runs a request with its own signal, which is aborted if `signal` is aborted before the request ends. The first page of a list keeps this
 * signal, because its `next` uses it. The signal of a query refers to the pages that the query had before, and would keep them in memory.
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
