/**
 * Reads the values that tables show as columns and maps as colours. A text names the value: `connection`, `metadata.city` or
 * `series:auto~power`.
 */
import type { ReactNode } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { useGets, useList } from '../../api/query.ts'
import type { Point } from '../../parts/chart-series.ts'
import { withoutMark } from '../../parts/chart-series.ts'
import { ConnectionBadge, isConnectionState } from '../../parts/connection.tsx'
import { grouped } from '../../parts/group.ts'
import { Link } from '../../parts/link.tsx'
import { Text } from '../../parts/text.tsx'
import { formatNumber } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { useDashboard } from './context.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

export type Endpoint = ItemOf<'endpoints.directory.list'>

const seriesMark = 'series:'
const metadataMark = 'metadata.'
const seriesNameOf = (column: string) => (column.startsWith(seriesMark) ? column.slice(seriesMark.length) : undefined)
/** Further names of fields, each with the usual name of the field. */
const aliases: Record<string, string> = {
  id: 'endpointId',
  appName: 'application',
  appVersion: 'version',
  state: 'connection',
}
const fieldOf = (column: string) => (Object.hasOwn(aliases, column) ? aliases[column]! : column)

/** Columns that the settings of a table offer as choices. Others, such as metadata keys, are entered as text. */
export const plainColumns = [
  ...['endpointId', 'metadata.name', 'connection', 'lastActivity', 'createdDate', 'application', 'version'],
]

export function titleOfColumn(column: string): string {
  const series = seriesNameOf(column)
  if (series !== undefined) return withoutMark(series)
  const field = fieldOf(column)
  if (field === 'metadata.name') return texts.columns.name!
  return Object.hasOwn(texts.columns, field) ? texts.columns[field]! : field.replace(metadataMark, '')
}

const valueAtPath = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined,
    value,
  )

/** Returns the value at a path in the metadata. A metadata key may itself contain dots. */
function metadataAt(metadata: Record<string, unknown> | undefined, path: string): unknown {
  return valueAtPath(metadata, [path]) ?? valueAtPath(metadata, path.split('.'))
}

export type NewestValues = Map<string, Point>
const keyOf = (endpointId: string, series: string) => `${endpointId} ${series}`

export function valueOfField(endpoint: Endpoint, column: string, newest: NewestValues): unknown {
  const series = seriesNameOf(column)
  if (series !== undefined) {
    const values = newest.get(keyOf(endpoint.endpointId, series))?.values ?? {}
    return 'value' in values ? values.value : Object.values(values)[0]
  }
  const field = fieldOf(column)
  if (field === 'application') return endpoint.appName
  if (field === 'version') return (endpoint.appVersion as { name?: string }).name
  if (field.startsWith(metadataMark)) return metadataAt(endpoint.metadata, field.slice(metadataMark.length))
  return valueAtPath(endpoint, [field]) ?? metadataAt(endpoint.metadata, field)
}

export function cellOf(endpoint: Endpoint, column: string, newest: NewestValues): ReactNode {
  const value = valueOfField(endpoint, column, newest)
  const field = fieldOf(column)
  if (field === 'endpointId')
    return (
      <Link to={`/endpoints/${encodeURIComponent(endpoint.endpointId)}`}>
        <Text value={endpoint.endpointId} max={60} />
      </Link>
    )
  if (field === 'connection' && isConnectionState(value)) return <ConnectionBadge state={value} />
  if (field === 'lastActivity' || field === 'createdDate') return <Time value={value as string | undefined} />
  return <Text value={typeof value === 'number' ? formatNumber(value) : value} max={120} />
}

/**
 * Returns the sort order for a request to the directory, which sorts by its own fields and by metadata keys. For other columns, such as a
 * series, the order is by endpoint id.
 */
export function apiSortOf(sort: string | undefined): { sort: string; sortOrder: 'asc' | 'desc' } {
  const descending = sort?.startsWith('-') ?? false
  const field = fieldOf((sort ?? 'endpointId').replace(/^-/, ''))
  const own = ['endpointId', 'createdDate', 'lastActivity'].includes(field)
  const key = own ? field : field.startsWith(metadataMark) ? field.slice(metadataMark.length) : 'endpointId'
  return { sort: key === '' ? 'endpointId' : key, sortOrder: descending ? 'desc' : 'asc' }
}

/** Sorts endpoints by the newest value of a series. The API cannot do this, so only the endpoints that were read are sorted. */
export function sortedBySeries(items: Endpoint[], sort: string | undefined, newest: NewestValues): Endpoint[] {
  const column = sort?.replace(/^-/, '')
  if (column === undefined || seriesNameOf(column) === undefined) return items
  const direction = sort!.startsWith('-') ? -1 : 1
  const numberOf = (item: Endpoint) => {
    const value = valueOfField(item, column, newest)
    return typeof value === 'number' ? value : Number.NEGATIVE_INFINITY * direction
  }
  return items.toSorted((a, b) => (numberOf(a) < numberOf(b) ? -direction : direction))
}

export interface EndpointsOptions {
  application: string | undefined
  filter: string | undefined
  sort?: string | undefined
  limit: number
  enabled?: boolean
}

/** Reads the endpoints of a widget, with their metadata. */
export function useEndpoints({ application, filter, sort, limit, enabled = true }: EndpointsOptions) {
  const dashboard = useDashboard()
  const applicationName = dashboard.chosen('application', application)
  // A widget without a filter shows all endpoints, even if the dashboard has a variable for filters.
  const filterId = filter === undefined ? undefined : dashboard.chosen('filter', filter)
  return useList(
    'endpoints.directory.list',
    {
      ...{ limit, include: 'metadata', ...apiSortOf(sort) },
      ...(applicationName !== undefined && { applicationName }),
      ...(filterId !== undefined && { filterId }),
    },
    { enabled, ...(dashboard.refreshMs !== undefined && { refreshMs: Math.max(dashboard.refreshMs, 15_000) }) },
  )
}

const idsMax = 100

/**
 * Reads the newest values of the series that the columns of a widget name, such as `series:auto~power`. One request reads the values of up
 * to 100 endpoints of an application.
 */
export function useNewestValues(endpoints: readonly Endpoint[], columns: readonly string[]) {
  const dashboard = useDashboard()
  const names = [...new Set(columns.map(seriesNameOf).filter((name) => name !== undefined && name !== ''))] as string[]
  const byApplication = names.length === 0 ? [] : [...grouped(endpoints, ({ appName }) => appName)]
  const requests = byApplication.flatMap(([applicationName, ofApplication]) =>
    Array.from({ length: Math.ceil(ofApplication.length / idsMax) }, (_, at) => ({
      ...{ applicationName, timeSeriesName: names },
      endpointId: ofApplication.slice(at * idsMax, (at + 1) * idsMax).map(({ endpointId }) => endpointId),
    })),
  )
  const read = useGets(
    'timeSeries.last.get',
    requests,
    dashboard.refreshMs === undefined ? {} : { refreshMs: dashboard.refreshMs },
  )
  const newest: NewestValues = new Map()
  for (const part of read.each as (Record<string, Record<string, Point[]>> | undefined)[])
    for (const [endpointId, bySeries] of Object.entries(part ?? {}))
      for (const [series, [point]] of Object.entries(bySeries)) if (point) newest.set(keyOf(endpointId, series), point)
  return { newest, problem: read.problem, reload: read.reload }
}
