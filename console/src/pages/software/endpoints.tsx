/** Endpoints of an application by the state of their software. */
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SearchBox } from '../../parts/filter-bar.tsx'
import { Link } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Endpoint = ItemOf<'software.endpoints.list'>
type State = keyof typeof texts.endpointStates

export const endpointStates = Object.keys(texts.endpointStates) as State[]
const tones: Record<State, Tone> = { all: 'quiet', current: 'good', waiting: 'quiet', offered: 'info', failed: 'bad' }
const refreshMs = 10_000

const columns: Column<Endpoint>[] = [
  {
    ...{ id: 'endpoint', title: texts.endpointColumns.endpoint, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ endpointId }) => (
      <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
        <Text value={endpointId} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'state', title: texts.endpointColumns.state, width: '9rem' },
    cell: ({ state }) => <Badge tone={tones[state]}>{texts.endpointStates[state]}</Badge>,
  },
  {
    ...{ id: 'current', title: texts.endpointColumns.current, width: '8rem' },
    cell: ({ currentVersion }) => <Text value={currentVersion} max={40} />,
  },
  {
    ...{ id: 'target', title: texts.endpointColumns.target, width: '8rem' },
    cell: ({ targetVersion, offeredVersion }) => <Text value={targetVersion ?? offeredVersion} max={40} />,
  },
  {
    ...{ id: 'report', title: texts.endpointColumns.report, width: 'minmax(8rem, 2fr)' },
    cell: ({ lastAppliedStatusCode, reasonPhrase }) => (
      <Text value={[lastAppliedStatusCode, reasonPhrase].filter((part) => part !== undefined).join(' ')} max={120} />
    ),
  },
  {
    ...{ id: 'updated', title: texts.endpointColumns.updated },
    cell: ({ updatedDate }) => <Time value={updatedDate} />,
  },
]

interface Props {
  appName: string
  address: AddressState<{ state: State; endpoint: string }>
  /** Lists only endpoints with this target version. */
  targetVersion?: string
}

export function SoftwareEndpoints({ appName, address, targetVersion }: Props) {
  const { state, endpoint } = address.values
  const args: ArgumentsOf<'software.endpoints.list'> = {
    ...{ appName, limit: 100 },
    ...(state !== 'all' && { state }),
    ...(endpoint.trim() !== '' && { endpointId: endpoint.trim() }),
    ...(targetVersion !== undefined && { targetVersion }),
  }
  const list = useList('software.endpoints.list', args, { refreshMs })
  const isFiltered = state !== 'all' || endpoint.trim() !== ''
  return (
    <>
      <div className="filter-bar" role="search">
        <SearchBox label={texts.endpointSearch} value={endpoint} onChange={(endpoint) => address.set({ endpoint })} />
        <Segments
          label={texts.endpointState}
          options={endpointStates.map((value) => ({ value, label: texts.endpointStates[value] }))}
          value={state}
          onChange={(state) => address.set({ state })}
        />
      </div>
      <DataTable
        label={texts.tabs.endpoints}
        list={list}
        columns={columns}
        rowId={({ endpointId }) => endpointId}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={() => address.set({ state: 'all', endpoint: '' })}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="cpu" title={texts.endpointsEmptyTitle}>
              {texts.endpointsEmptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
