/** Reads ids of endpoints for work over all that match conditions which only the directory knows. */
import type { Arguments } from '../../../sdk/src/types.ts'
import { useSession } from './client.ts'
import type { ArgumentsOf, ItemOf } from './operation-types.ts'

/** A job accepts this many ids. */
export const collectedMax = 10_000

/** Returns a function that reads the ids of all matching endpoints; undefined if there are too many. */
export function useCollectEndpointIds(): (
  conditions: ArgumentsOf<'endpoints.directory.list'>,
) => Promise<string[] | undefined> {
  const { client } = useSession()
  return async (conditions) => {
    const ids: string[] = []
    const args = { ...conditions, include: undefined, limit: 1000 } as Arguments
    for await (const { endpointId } of client.list<ItemOf<'endpoints.directory.list'>>(
      'endpoints.directory.list',
      args,
    )) {
      if (ids.length === collectedMax) return undefined
      ids.push(endpointId)
    }
    return ids
  }
}
