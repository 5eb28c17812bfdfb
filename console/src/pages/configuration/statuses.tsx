/** Shows whether the endpoints of a version have applied their configuration. */
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SearchBox } from '../../parts/filter-bar.tsx'
import { Link } from '../../parts/link.tsx'
import { EmptyState, Note } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Row = ItemOf<'configurations.statuses.list'>
type Status = keyof typeof texts.statuses

export const statuses = Object.keys(texts.statuses) as Status[]
const tones: Record<Status, Tone> = {
  ALL: 'quiet',
  PENDING: 'quiet',
  DISPATCHED: 'info',
  APPLIED: 'good',
  FAILED: 'bad',
}
const refreshMs = 10_000

const columns: Column<Row>[] = [
  {
    ...{ id: 'endpoint', title: texts.columns.endpoint, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ endpointId }) => (
      <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
        <Text value={endpointId} max={80} />
      </Link>
    ),
  },
  { ...{ id: 'name', title: texts.columns.name }, cell: ({ name }) => <Text value={name} max={60} /> },
  {
    ...{ id: 'status', title: texts.columns.status, width: '8rem' },
    cell: ({ status }) => <Badge tone={tones[status]}>{texts.statuses[status]}</Badge>,
  },
  {
    ...{ id: 'sent', title: texts.columns.sent },
    cell: ({ lastDispatchedDate }) => <Time value={lastDispatchedDate} />,
  },
  {
    ...{ id: 'confirmed', title: texts.columns.confirmed },
    cell: ({ lastConfirmedDate }) => <Time value={lastConfirmedDate} />,
  },
  {
    ...{ id: 'reason', title: texts.columns.reason, width: 'minmax(8rem, 2fr)' },
    cell: ({ confirmationStatusCode, confirmationReasonPhrase }) => (
      <Text
        value={[confirmationStatusCode, confirmationReasonPhrase].filter((part) => part !== undefined).join(' ')}
        max={120}
      />
    ),
  },
]

/** Counts the endpoints with each status. For each status it requests a list of one item and uses the total of the list. */
function useStatusCounts(shared: ArgumentsOf<'configurations.statuses.list'>): Record<Status, number | undefined> {
  const totalOf = (status: Exclude<Status, 'ALL'> | undefined) =>
    // biome-ignore lint/correctness/useHookAtTopLevel: `useList` is called the same number of times at each rendering
    useList('configurations.statuses.list', { ...shared, size: 1, ...(status && { status }) }, { refreshMs }).total
  return {
    ALL: totalOf(undefined),
    PENDING: totalOf('PENDING'),
    DISPATCHED: totalOf('DISPATCHED'),
    APPLIED: totalOf('APPLIED'),
    FAILED: totalOf('FAILED'),
  }
}

interface Props {
  appVersionName: string
  address: AddressState<{ status: Status; endpoint: string; config: string }>
}

export function Statuses({ appVersionName, address }: Props) {
  const { status, endpoint, config } = address.values
  const shared: ArgumentsOf<'configurations.statuses.list'> = {
    ...{ appVersionName },
    ...(endpoint.trim() !== '' && { endpointId: endpoint.trim() }),
    ...(config !== '' && { configId: config }),
  }
  const args = { ...shared, size: 100, ...(status !== 'ALL' && { status }) }
  const counts = useStatusCounts(shared)
  const list = useList('configurations.statuses.list', args, { refreshMs })
  const isFiltered = status !== 'ALL' || endpoint.trim() !== '' || config !== ''
  return (
    <>
      <div className="filter-bar" role="search">
        <SearchBox label={texts.search} value={endpoint} onChange={(endpoint) => address.set({ endpoint })} />
        <Segments
          label={texts.status}
          options={statuses.map((value) => ({ value, label: texts.statuses[value], count: counts[value] }))}
          value={status}
          onChange={(status) => address.set({ status })}
        />
      </div>
      {config !== '' && (
        <Note
          action={
            <Button size="small" onPress={() => address.set({ config: '' })}>
              {texts.allConfigurations}
            </Button>
          }
        >
          {texts.oneConfiguration}
        </Note>
      )}
      <DataTable
        label={texts.tabs.statuses}
        list={list}
        columns={columns}
        rowId={({ endpointId, name, configId }) => `${endpointId} ${name} ${configId}`}
        rowName={({ endpointId }) => endpointId}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={
                <Button onPress={() => address.set({ status: 'ALL', endpoint: '', config: '' })}>{texts.clear}</Button>
              }
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="sliders" title={texts.emptyTitle}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
