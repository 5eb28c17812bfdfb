/**
 * Software of an endpoint. The entry of the endpoint is read only if the list contains the endpoint, because a device that has reported no
 * software has no entry.
 */
import { useGet, useList } from '../../api/query.ts'

export function useSoftware(appName: string, endpointId: string, enabled = true) {
  const list = useList('software.endpoints.list', { appName, endpointId }, { enabled, refreshMs: 5_000 })
  const isKnown = list.items.some((one) => one.endpointId === endpointId)
  const software = useGet(
    'software.endpoints.get',
    { appName, endpointId },
    { enabled: enabled && isKnown, refreshMs: 5_000 },
  )
  return {
    data: isKnown ? software.data : undefined,
    isLoading: list.isLoading || (isKnown && software.isLoading),
    problem: list.problem ?? software.problem,
    reload: list.reload,
  }
}
