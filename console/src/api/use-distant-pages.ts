/** Reduces the pages of one list while they are far from the visible rows (`distant-pages.ts`). */
import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { Page } from '../../../sdk/src/types.ts'
import { pagesToRead, withoutDistant, withoutNext } from './distant-pages.ts'

export type NextPage<T> = () => Promise<Page<T> | undefined>
type KeptPage<T> = Page<T> & { isReduced?: boolean }
type Kept<T> = InfiniteData<KeptPage<T>, NextPage<T> | undefined>

export interface DistantPages {
  showRange(first: number, last: number): void
  /** The error of a page that could not be read again. */
  error: unknown
  retry(): void
}

export function useDistantPages<T>(
  queryKey: readonly unknown[],
  readPage: (next: NextPage<T> | undefined) => Promise<Page<T>>,
  reduce: ((item: T) => T) | undefined,
): DistantPages {
  const queries = useQueryClient()
  const [error, setError] = useState<unknown>()
  const range = useRef<[number, number]>([0, 0])
  const reading = useRef(new Set<KeptPage<T>>())

  /** Changes the pages in the cache. The time of the last read stays, so that the list does not count as read again. */
  function setPages(change: (pages: KeptPage<T>[]) => KeptPage<T>[]) {
    const updatedAt = queries.getQueryState(queryKey)?.dataUpdatedAt
    const changed = (kept: Kept<T> | undefined) => kept && { ...kept, pages: change(kept.pages) }
    queries.setQueryData<Kept<T>>(queryKey, changed, updatedAt === undefined ? {} : { updatedAt })
  }

  async function readAgain(page: KeptPage<T>, next: NextPage<T> | undefined, identify: (item: T) => T) {
    if (reading.current.has(page)) return
    reading.current.add(page)
    try {
      const fresh = await readPage(next)
      setPages((pages) => {
        const following = pages[pages.indexOf(page) + 1]?.items ?? []
        const items = withoutNext(fresh.items, following, identify)
        return pages.map((one) => (one === page ? { ...page, items, isReduced: false } : one))
      })
      setError(undefined)
    } catch (failure) {
      setError(failure)
    } finally {
      reading.current.delete(page)
    }
  }

  function apply() {
    const kept = queries.getQueryData<Kept<T>>(queryKey)
    if (!kept || !reduce) return
    const pages = withoutDistant<T, KeptPage<T>>(kept.pages, range.current, reduce)
    if (pages !== kept.pages) setPages(() => pages)
    // The pages are read from the cache, because `setPages` has just replaced some pages by copies.
    const now = queries.getQueryData<Kept<T>>(queryKey)?.pages ?? []
    for (const index of pagesToRead(now, range.current)) void readAgain(now[index]!, kept.pageParams[index], reduce)
  }

  return {
    showRange(first, last) {
      range.current = [first, last]
      apply()
    },
    error,
    retry: apply,
  }
}
