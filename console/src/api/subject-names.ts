/** The names of users and API keys, for pages that know only their ids. */
import { useMay } from './me.ts'
import { useList } from './query.ts'

/** Returns the names of the users and API keys that the caller may see, by id. */
export function useSubjectNames(): Map<string, string> {
  const may = useMay()
  const users = useList('users.list', { limit: 0 }, { enabled: may('identity:user:read') })
  const keys = useList('apiKeys.list', { limit: 0 }, { enabled: may('identity:api-key:read') })
  return new Map([
    ...users.items.map(({ id, username }) => [id, username] as const),
    ...keys.items.map(({ id, name }) => [id, name] as const),
  ])
}
