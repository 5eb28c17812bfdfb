/** Tests of the cache of the console: data that a page has read is released after the user has left the page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { InfiniteQueryObserver } from '@tanstack/react-query'
import { isReducedAt, pagesToRead, withoutDistant, withoutNext } from '../../console/src/api/distant-pages.ts'
import { untilAborted } from '../../console/src/api/own-signal.ts'
import { createQueryClient } from '../../console/src/api/query-client.ts'

/** Reads pages of a list, leaves the list, and returns how many items the cache still has. */
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

test('a short list stays in the cache, so that the back button shows it immediately; the items of a long list are released', async () => {
  assert.deepEqual(await itemsAfterLeaving(2), { items: 2, isCached: true })
  assert.deepEqual(await itemsAfterLeaving(3), { items: 0, isCached: false })
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('a list that is read again and again does not keep its earlier pages in memory', async (t) => {
  const queries = createQueryClient()
  const pages: WeakRef<object>[] = []
  /** Returns a page that refers to the signal of its request, as pages of the SDK do. */
  const request = async (signal: AbortSignal) => {
    const page = { items: ['endpoint'], next: () => signal }
    pages.push(new WeakRef(page))
    return page
  }
  const observer = new InfiniteQueryObserver(queries, {
    queryKey: ['endpoints'],
    queryFn: ({ signal }) => untilAborted(signal, request),
    initialPageParam: 0,
    getNextPageParam: () => undefined,
  })
  const leave = observer.subscribe(() => {})
  t.after(() => {
    // The cache is cleared after the list is left: leaving a list starts a timer of five minutes, which would delay the end of the process.
    leave()
    queries.clear()
  })
  for (let round = 0; round < 10; round++) await observer.refetch()
  // A weak reference keeps its object until the current task ends.
  await new Promise(setImmediate)
  collectGarbage()
  const kept = pages.filter((page) => page.deref() !== undefined).length
  assert.ok(kept <= 3, `${kept} of ${pages.length} pages are in memory`)
})

test('a request ends when the signal of its caller is aborted, before or while it runs', async () => {
  const wait = (own: AbortSignal) =>
    own.aborted
      ? Promise.reject(own.reason)
      : new Promise((_, reject) => own.addEventListener('abort', () => reject(own.reason)))
  const controller = new AbortController()
  const running = untilAborted(controller.signal, wait)
  controller.abort(new Error('left'))
  await assert.rejects(running, /left/)
  await assert.rejects(untilAborted(controller.signal, wait), /left/)
})

interface Row {
  id: number
  text?: string
}

const rowsOf = (page: number): Row[] => Array.from({ length: 10 }, (_, n) => ({ id: page * 10 + n, text: 'long' }))
const reduce = ({ id }: Row): Row => ({ id })

test('pages of a long list that are far from the visible rows keep only ids, and are read again when the user scrolls near them', () => {
  const pages: { items: Row[]; isReduced?: boolean }[] = Array.from({ length: 20 }, (_, page) => ({
    items: rowsOf(page),
  }))
  const reducedOf = (all: { isReduced?: boolean }[]) =>
    all.flatMap(({ isReduced }, index) => (isReduced ? [index] : []))
  const atEnd = withoutDistant<Row, (typeof pages)[number]>(pages, [185, 199], reduce)
  assert.deepEqual(
    reducedOf(atEnd),
    Array.from({ length: 15 }, (_, page) => page),
  )
  assert.deepEqual(atEnd[0]!.items[3], { id: 3 })
  assert.deepEqual(atEnd[19]!.items[3], { id: 193, text: 'long' })
  assert.equal(withoutDistant<Row, (typeof pages)[number]>(atEnd, [185, 199], reduce), atEnd)
  assert.deepEqual(pagesToRead(atEnd, [185, 199]), [])
  assert.deepEqual(pagesToRead(atEnd, [52, 60]), [4, 5, 6, 7])
  assert.deepEqual([isReducedAt(atEnd, 149), isReducedAt(atEnd, 150), isReducedAt(atEnd, 500)], [true, false, false])
})

test('a page that is read again after deletions does not repeat rows of the next page', () => {
  const again = [...rowsOf(0).slice(3), ...rowsOf(1).slice(0, 3)]
  assert.deepEqual(withoutNext(again, rowsOf(1).map(reduce), reduce), rowsOf(0).slice(3))
  assert.deepEqual(withoutNext(again, [], reduce), again)
})
