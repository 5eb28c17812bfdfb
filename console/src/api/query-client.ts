/** The cache of the data that pages have read. */
import { type InfiniteData, notifyManager, QueryCache, QueryClient } from '@tanstack/react-query'

// By default, the library notifies components in a timer after a response, so they would show the response later than necessary.
notifyManager.setScheduler(queueMicrotask)

/**
 * Maximum number of pages of a list that stays in memory after the user has left the list. A longer list is removed, so that opening it
 * again reads only its first page.
 */
const keptPages = 2

/** Creates the cache. It does not repeat failed requests, because the SDK does so. */
export function createQueryClient(): QueryClient {
  // Until the stack of an error is formatted, the error refers to the functions on its stack, and through them to the previous error.
  // Reading `stack` formats it; otherwise all errors of an outage would stay in memory.
  const onError = (error: Error) => void error.stack
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError }),
    defaultOptions: {
      queries: { retry: false, staleTime: 5_000, gcTime: 300_000, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
  const cache = queries.getQueryCache()
  cache.subscribe(({ type, query }) => {
    if (type !== 'observerRemoved' || query.getObserversCount() > 0) return
    const { pages = [] } = (query.state.data ?? {}) as Partial<InfiniteData<{ items: unknown[] }>>
    if (pages.length <= keptPages) return
    cache.remove(query)
    // V8 does not free the removed query: one of its internal structures still refers to a getter of the query. The items are therefore
    // released here. Nothing else uses these arrays, because `useList` copies them.
    for (const page of pages) page.items.length = 0
  })
  return queries
}
