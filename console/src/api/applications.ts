/** The applications whose objects the caller may read. */
import { useMay } from './me.ts'
import { useGet, useList } from './query.ts'

/** Maximum number of applications that the counts of endpoints return. */
const countedMax = 1000

/**
 * Returns the applications. A caller with the scope `endpoint:read` and without `application:read`, such as a user with the role
 * `endpoint-reader`, gets the applications that have endpoints which the caller may read, without display names and versions.
 */
export function useApplications() {
  const may = useMay()
  const isCounted = may('endpoint:read') && !may('application:read')
  const list = useList('applications.list', {}, { enabled: !isCounted })
  const counts = useGet('endpoints.counts.get', { by: ['application'], top: countedMax }, { enabled: isCounted })
  if (!isCounted) return list
  const counted = counts.data?.counts.find(({ by }) => by === 'application')?.values ?? []
  const items = counted
    .map(({ value }) => ({ name: String(value), displayName: undefined, versions: [] }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  return { items, isLoading: counts.isLoading, problem: counts.problem, reload: () => void counts.reload() }
}
