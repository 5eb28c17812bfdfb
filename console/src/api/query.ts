/** Hooks of pages: `useList` and `useGet` read, `useChange` changes. console/README.md has examples. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Answer, Arguments, Page } from '../../../sdk/src/types.ts'
import type { Problem } from '../parts/problem.ts'
import { useSession } from './client.ts'
import { isReducedAt } from './distant-pages.ts'
import type { ArgumentsOf, BodyOf, CallName, ItemOf, ListName, OperationName } from './operation-types.ts'
import { untilAborted } from './own-signal.ts'
import { isTemporary, problemOf } from './problems.ts'
import { type NextPage, useDistantPages } from './use-distant-pages.ts'

const keyOf = (name: string, args: unknown) => [name.split('.')[0], name, args] as const
/** While the platform does not respond, pages repeat their requests at this interval. */
const retryMs = 5_000
const retryInterval = (error: unknown, otherwise: number | false) =>
  error && isTemporary(problemOf(error))
    ? Math.max(retryMs, (problemOf(error).retryAfterSeconds ?? 0) * 1000)
    : otherwise

/**
 * Returns the problem that a page shows. If the page has data and the problem is temporary, the page shows only the data: a banner reports
 * the problem, and the request is repeated.
 */
function problemFor(error: unknown, data: unknown): Problem | undefined {
  if (!error) return undefined
  const problem = problemOf(error)
  return data !== undefined && isTemporary(problem) ? undefined : problem
}

export interface ReadOptions {
  /** If false, nothing is read yet. */
  enabled?: boolean
  /** Interval in milliseconds at which the data is read again. */
  refreshMs?: number
}

export interface ListOptions<T> extends ReadOptions {
  /**
   * Returns only the fields that identify an item. Pages far from the visible rows keep only these fields. Without this function, all pages
   * are kept whole.
   */
  reduce?(item: T): Partial<T>
}

export interface ListResult<T> {
  items: T[]
  /** Number of all matching items; undefined if the operation does not count them. */
  total: number | undefined
  isLoading: boolean
  /** True if the list was read at least once. A later request may have failed. */
  isRead: boolean
  /** True if the items still belong to the previous arguments, while the items for the new arguments are read. */
  isOld: boolean
  problem: Problem | undefined
  hasMore: boolean
  isLoadingMore: boolean
  loadMore(): void
  reload(): void
  /**
   * Reports that the rows from `first` to `last` are visible. Pages far from them are reduced, and reduced pages near them are read again.
   */
  showRange(first: number, last: number): void
  /** Returns whether an item has only its identifying fields, while its page is read again. */
  isReduced(index: number): boolean
}

/** Lists items page by page; `loadMore` reads the next page. */
export function useList<P extends ListName>(
  name: P,
  args: ArgumentsOf<P>,
  { enabled = true, refreshMs, reduce }: ListOptions<ItemOf<P>> = {},
): ListResult<ItemOf<P>> {
  const { client } = useSession()
  type Item = ItemOf<P>
  const queryKey = keyOf(name, args)
  const readPage = async (next: NextPage<Item> | undefined, signal?: AbortSignal): Promise<Page<Item>> =>
    (next
      ? await next()
      : await untilAborted(signal, (own) => client.list<Item>(name, args as Arguments, { signal: own }).page())) ??
    emptyPage
  const distant = useDistantPages<Item>(queryKey, readPage, reduce as ((item: Item) => Item) | undefined)
  const query = useInfiniteQuery({
    queryKey,
    enabled,
    queryFn: ({ pageParam, signal }) => readPage(pageParam, signal),
    initialPageParam: undefined as NextPage<Item> | undefined,
    getNextPageParam: (last) => (last.hasNext ? last.next : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => retryInterval(state.error, refreshMs ?? false),
  })
  const pages = query.data?.pages
  const items = useMemo(() => pages?.flatMap((page) => page.items) ?? [], [pages])
  return {
    items,
    total: pages?.at(-1)?.total,
    isLoading: query.isPending && enabled,
    isRead: pages !== undefined,
    isOld: query.isPlaceholderData,
    problem: problemFor(query.error, pages) ?? problemFor(distant.error, undefined),
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
    },
    reload: () => {
      if (query.error || !distant.error) void query.refetch()
      distant.retry()
    },
    showRange: distant.showRange,
    isReduced: (index) => isReducedAt(pages ?? [], index),
  }
}

const emptyPage: Page<never> = {
  status: 200,
  items: [],
  total: undefined,
  etag: undefined,
  correlationId: undefined,
  hasNext: false,
  next: async () => undefined,
}

export interface GetResult<T> {
  data: T | undefined
  /** Version of the object, for `ifMatch` of a change. */
  etag: string | undefined
  isLoading: boolean
  problem: Problem | undefined
  reload(): Promise<{ data: T | undefined; etag: string | undefined }>
}

/** Reads one object. */
export function useGet<P extends CallName>(
  name: P,
  args: ArgumentsOf<P>,
  { enabled = true, refreshMs }: ReadOptions = {},
): GetResult<BodyOf<P>> {
  const { client } = useSession()
  const query = useQuery({
    queryKey: keyOf(name, args),
    enabled,
    queryFn: async ({ signal }) => {
      const { body, etag } = await client.call(name, args as Arguments, { signal })
      // An empty body becomes null, because a query without data would count as failed.
      return { body: (body ?? null) as BodyOf<P>, etag }
    },
    refetchInterval: ({ state }) => retryInterval(state.error, refreshMs ?? false),
  })
  return {
    data: query.data?.body,
    etag: query.data?.etag,
    isLoading: query.isPending && enabled,
    problem: problemFor(query.error, query.data),
    reload: async () => {
      const { data } = await query.refetch()
      return { data: data?.body, etag: data?.etag }
    },
  }
}

/**
 * Reads several objects of one kind, each with its own request. When the arguments change, the old results stay until the new results are
 * read.
 */
export function useGets<P extends CallName>(
  name: P,
  argsOfEach: ArgumentsOf<P>[],
  { enabled = true, refreshMs }: ReadOptions = {},
): { each: (BodyOf<P> | undefined)[]; isLoading: boolean; problem: Problem | undefined; reload(): void } {
  const { client } = useSession()
  const queries = useQueries({
    queries: argsOfEach.map((args) => ({
      queryKey: keyOf(name, args),
      enabled,
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const { body, etag } = await client.call(name, args as Arguments, { signal })
        return { body: (body ?? null) as BodyOf<P>, etag }
      },
      placeholderData: keepPreviousData,
      refetchInterval: ({ state }: { state: { error: unknown } }) => retryInterval(state.error, refreshMs ?? false),
    })),
  })
  const failed = queries.find(({ error, data }) => problemFor(error, data))
  return {
    each: queries.map(({ data }) => (data as { body: BodyOf<P> } | undefined)?.body),
    isLoading: enabled && queries.some(({ isPending }) => isPending),
    problem: problemFor(failed?.error, failed?.data),
    reload: () => {
      for (const query of queries) void query.refetch()
    },
  }
}

const problemOfChange = (error: unknown): Problem => ({ ...problemOf(error), isOfChange: true })

/** The outcome of a change: it was made, it failed, or another caller changed the object meanwhile. */
export type Outcome<T> =
  | { kind: 'done'; body: T; location: string | undefined }
  | { kind: 'failed'; problem: Problem }
  | { kind: 'conflict' }

export interface Change<P extends OperationName> {
  run(args: ArgumentsOf<P>, options?: { ifMatch?: string | undefined }): Promise<Outcome<BodyOf<P>>>
  isRunning: boolean
  /** The problem of the last run; undefined as soon as another run begins. */
  problem: Problem | undefined
  reset(): void
}

/** Returns whether a query has all arguments of a deletion. Such a query reads the deleted object, so repeating the query would fail. */
function readsDeleted([, , queried]: readonly unknown[], { body: _, ...deleted }: Record<string, unknown>): boolean {
  const queriedArgs = queried as Record<string, unknown>
  const ids = Object.entries(deleted)
  return ids.length > 0 && ids.every(([key, value]) => queriedArgs[key] === value)
}

export interface ChangeOptions {
  /** Further nouns that are read again. */
  also?: string[]
  /** If true, the page stays open after a deletion, so what the page reads with the arguments of the deletion is read again too. */
  staysOpen?: boolean
}

/**
 * Returns a function that calls an operation which changes data. Afterwards, all lists and objects of its noun (`alerts` of
 * `alerts.delete`) are read again.
 */
export function useChange<P extends CallName>(name: P, { also = [], staysOpen }: ChangeOptions = {}): Change<P> {
  const { client } = useSession()
  const queries = useQueryClient()
  const mutation = useMutation({
    mutationFn: ({ args, ifMatch }: { args: ArgumentsOf<P>; ifMatch: string | undefined }): Promise<Answer> =>
      client.call(name, args as Arguments, ifMatch === undefined ? {} : { ifMatch }),
  })
  return {
    async run(args, { ifMatch } = {}) {
      let answer: Answer
      try {
        answer = await mutation.mutateAsync({ args, ifMatch })
      } catch (error) {
        return { kind: 'failed', problem: problemOfChange(error) }
      }
      const isGone = (key: readonly unknown[]) => name.endsWith('.delete') && !staysOpen && readsDeleted(key, args)
      const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) => !isGone(queryKey)
      const nouns = [name.split('.')[0]!, ...also]
      await Promise.all(nouns.map((noun) => queries.invalidateQueries({ queryKey: [noun], predicate })))
      if (answer.status === 412) return { kind: 'conflict' }
      return { kind: 'done', body: answer.body as BodyOf<P>, location: answer.location }
    },
    isRunning: mutation.isPending,
    problem: mutation.error ? problemOfChange(mutation.error) : undefined,
    reset: mutation.reset,
  }
}
