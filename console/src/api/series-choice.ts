/** Endpoints and series of an application as choices with a search, for pages that draw series. */
import { useState } from 'react'
import { withoutMark } from '../parts/chart-series.ts'
import { useGet, useList } from './query.ts'

/**
 * Returns endpoints whose id or indexed metadata contains the search text: endpoints of the application, or of all applications if none is
 * given.
 */
export function useEndpointChoice(applicationName: string | undefined, { enabled = true } = {}) {
  const [search, onSearch] = useState('')
  const list = useList(
    'endpoints.directory.list',
    {
      ...{ sort: 'endpointId', limit: 50, include: 'metadata' },
      ...(applicationName && { applicationName }),
      ...(search.trim() !== '' && { search: search.trim() }),
    },
    { enabled },
  )
  const options = list.items.map(({ endpointId, appName, metadata }) => ({
    ...{ value: endpointId, label: endpointId, applicationName: appName },
    ...(typeof metadata?.name === 'string' && { description: metadata.name }),
  }))
  return { options, search, onSearch, problem: list.problem }
}

/** Returns the series of the application, or of all applications if none is given. */
export function useSeriesChoice(applicationName: string | undefined) {
  const [search, onSearch] = useState('')
  const known = useGet('timeSeries.list', applicationName ? { applicationNames: applicationName } : {})
  const byApplication = (known.data ?? {}) as Record<string, readonly { name: string }[]>
  const found = applicationName ? (byApplication[applicationName] ?? []) : Object.values(byApplication).flat()
  const options = [...new Set(found.map(({ name }) => name))]
    .filter((name) => name.toLowerCase().includes(search.trim().toLowerCase()))
    .map((name) => ({ value: name, label: withoutMark(name) }))
  return { options, search, onSearch, problem: known.problem }
}
