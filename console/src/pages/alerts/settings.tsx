/** The list of alert settings. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { Badge } from '../../parts/badge.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { Severity } from '../../parts/severity.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { settingTexts as texts } from './setting-texts.ts'

type Setting = ItemOf<'alertSettings.list'>

const addressOf = ({ id }: Setting) => `/alerts/settings/${encodeURIComponent(id)}`

/** Names the endpoints that a setting watches. */
export function Watched({ setting }: { setting: Pick<Setting, 'appName' | 'appVersionName' | 'endpointIds'> }) {
  const { appName, appVersionName, endpointIds } = setting
  if (appName !== undefined)
    return (
      <>
        {texts.ofApplication} <Text value={appName} max={60} mono />
      </>
    )
  if (appVersionName !== undefined)
    return (
      <>
        {texts.ofVersion} <Text value={appVersionName} max={60} mono />
      </>
    )
  if (endpointIds?.length === 1) return <Text value={endpointIds[0]} max={60} mono />
  return texts.ofEndpoints(endpointIds?.length ?? 0)
}

export const SettingState = ({ state }: { state: Setting['state'] }) => (
  <Badge tone={state === 'ENABLED' ? 'good' : 'quiet'}>{texts.states[state]}</Badge>
)

const columns: Column<Setting>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: (setting) => (
      <Link to={addressOf(setting)}>
        <Text value={setting.name} max={100} />
      </Link>
    ),
  },
  {
    ...{ id: 'type', title: texts.columns.type, width: 'minmax(9rem, 1fr)' },
    cell: ({ alertType }) => <Text value={alertType} max={60} />,
  },
  {
    ...{ id: 'severity', title: texts.columns.severity, width: '8rem' },
    cell: ({ severityLevel }) => <Severity level={severityLevel} />,
  },
  {
    ...{ id: 'endpoints', title: texts.columns.endpoints, width: 'minmax(10rem, 1.5fr)' },
    cell: (setting) => <Watched setting={setting} />,
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: '8rem' },
    cell: ({ state }) => <SettingState state={state} />,
  },
  { ...{ id: 'updated', title: texts.columns.updated }, cell: ({ updatedAt }) => <Time value={updatedAt} /> },
]

export function AlertSettings({ address }: { address: AddressState<{ q: string }> }) {
  const { q } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const list = useList('alertSettings.list', {
    ...(q.trim() !== '' && { name: q.trim() }),
    ...{ sort: 'updatedAt', sortOrder: 'desc', size: 100 },
  })
  return (
    <>
      <FilterBar address={{ ...address, isChanged: q !== '', reset: () => address.set({ q: '' }) }}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          <EmptyList
            icon="bell"
            title={texts.emptyTitle}
            isFiltered={q.trim() !== ''}
            onClear={() => address.set({ q: '' })}
            actions={
              may('tenant:alert-setting:create') && (
                <LinkButton to="/alerts/settings/new" icon="plus">
                  {texts.create}
                </LinkButton>
              )
            }
          >
            {texts.emptyText}
          </EmptyList>
        }
      />
    </>
  )
}
