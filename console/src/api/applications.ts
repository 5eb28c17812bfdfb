/** The applications whose objects the caller may read. */
import { useMemo } from 'react'
import { withVersions } from './application-versions.ts'
import { useMay } from './me.ts'
import { useGet, useList } from './query.ts'

/** Maximum number of applications that the counts of endpoints return. */
const countedMax = 1000

/**
 * Returns the applications. A caller with the scope `endpoint:read` and without `application:read`, such as a user with the role
 * `endpoint-reader`, gets the applications that have endpoints which the caller may read, without display
 * names and with the versions of these endpoints.
 */
export function useApplications() {
  const may = useMay()
  const isCounted = may('endpoint:read') && !may('application:read')
  const list = useList('applications.list', {}, { enabled: !isCounted })
  const counts = useGet(
    'endpoints.counts.get',
    { by: ['application', 'version'], top: countedMax },
    { enabled: isCounted },
  )
  // The items stay the same objects while the counts do, because other hooks depend on them.
  const items = useMemo(() => {
    const counted = (by: string) =>
      (counts.data?.counts.find((one) => one.by === by)?.values ?? []).map(({ value }) => String(value)).sort()
    return withVersions(counted('application'), counted('version'))
  }, [counts.data])
  if (!isCounted) return list
  return {
    items,
    isLoading: counts.isLoading,
    isRead: counts.data !== undefined,
    problem: counts.problem,
    reload: () => void counts.reload(),
  }
}
