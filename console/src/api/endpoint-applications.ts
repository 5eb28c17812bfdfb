/** Finds the applications of endpoints, for pages that have only the ids of the endpoints. */
import { useQueries } from '@tanstack/react-query'
import { useSession } from './client.ts'
import type { ItemOf } from './operation-types.ts'

/** Maximum number of ids that fit into the URL of one request. */
const idsMax = 100

/**
 * Returns the applications by endpoint id. While `isLoading` is true, endpoints can be missing. Afterwards, only endpoints that do not
 * exist or that the caller may not read are missing.
 */
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
