/** Finds the applications of endpoints that a page knows only by id. */
import { useQueries } from '@tanstack/react-query'
import { useSession } from './client.ts'
import type { ItemOf } from './operation-types.ts'

/** Maximum number of ids that fit into the URL of one request. */
const idsMax = 100

/** Returns the application by id; endpoints that do not exist for the caller are absent once `isLoading` is false. */
export function useEndpointApplications(ids: readonly string[]): { byId: Map<string, string>; isLoading: boolean } {
  const { client } = useSession()
  const parts = Array.from({ length: Math.ceil(ids.length / idsMax) }, (_, at) =>
    ids.slice(at * idsMax, (at + 1) * idsMax),
  )
  const queries = useQueries({
    queries: parts.map((part) => ({
      queryKey: ['endpoints', 'applications', part],
      staleTime: 60_000,
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const args = { endpointId: part, limit: part.length }
        const page = await client.list<ItemOf<'endpoints.list'>>('endpoints.list', args, { signal }).page()
        return (page?.items ?? []).map(({ endpointId, appName }): [string, string] => [endpointId, appName])
      },
    })),
  })
  return {
    byId: new Map(queries.flatMap(({ data }) => data ?? [])),
    isLoading: queries.some(({ isPending }) => isPending),
  }
}
