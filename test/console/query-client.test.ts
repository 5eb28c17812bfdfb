/** The cache of the console: what a page has read is released after the page is left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InfiniteQueryObserver } from '@tanstack/react-query'
import { createQueryClient } from '../../console/src/api/query-client.ts'

/** Reads pages of a list, leaves it, and returns the items of the pages that it had. */
async function itemsAfterLeaving(pageCount: number): Promise<{ items: number; isCached: boolean }> {
  const queries = createQueryClient()
  const queryKey = ['endpoints', pageCount]
  const observer = new InfiniteQueryObserver(queries, {
    queryKey,
    queryFn: ({ pageParam }) => Promise.resolve({ items: [`endpoint-${pageParam}`], next: pageParam + 1 }),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  })
  const leave = observer.subscribe(() => {})
  await observer.refetch()
  while ((observer.getCurrentResult().data?.pages.length ?? 0) < pageCount) await observer.fetchNextPage()
  const { pages } = observer.getCurrentResult().data!
  leave()
  const result = {
    items: pages.reduce((count, { items }) => count + items.length, 0),
    isCached: queries.getQueryData(queryKey) !== undefined,
  }
  queries.clear()
  return result
}

test('a short list stays in the cache, so that the back button shows it at once; the items of a long list are released', async () => {
  assert.deepEqual(await itemsAfterLeaving(2), { items: 2, isCached: true })
  assert.deepEqual(await itemsAfterLeaving(3), { items: 0, isCached: false })
})
