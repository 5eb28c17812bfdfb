/** The list of endpoints: search, sort and selection, at any number of endpoints. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { nothingSelected, type Selection } from '../../parts/selection.ts'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { Connection, type ConnectionState } from './connection.tsx'
import { DeleteSelected } from './delete-selected.tsx'
import { texts } from './texts.ts'

type Endpoint = ItemOf<'endpoints.directory.list'>
type Conditions = ArgumentsOf<'endpoints.directory.list'>

const pageSize = 100
const sortKeys = ['id', '-id', 'activity', '-activity', 'created', '-created'] as const
const apiKeys = { id: 'endpointId', activity: 'lastActivity', created: 'createdDate' }
const connections = ['', 'connected', 'disconnected', 'never'] as const

const addressOf = ({ endpointId }: Endpoint) => `/endpoints/${encodeURIComponent(endpointId)}`

const columns: Column<Endpoint>[] = [
  {
    ...{ id: 'id', title: texts.columns.id, width: 'minmax(11rem, 2fr)', isSortable: true },
    cell: (endpoint) => (
      <Link to={addressOf(endpoint)}>
        <Text value={endpoint.endpointId} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(8rem, 1.5fr)' },
    cell: ({ metadata }) => <Text value={metadata?.name} max={80} />,
  },
  {
    ...{ id: 'version', title: texts.columns.version },
    cell: ({ appVersion }) => <Text value={appVersion.name} max={60} />,
  },
  { id: 'state', title: texts.columns.state, cell: ({ connection }) => <Connection state={connection} /> },
  {
    ...{ id: 'activity', title: texts.columns.activity, isSortable: true },
    cell: ({ lastActivity }) => <Time value={lastActivity} />,
  },
  {
    ...{ id: 'created', title: texts.columns.created, isSortable: true },
    cell: ({ createdDate }) => <Time value={createdDate} />,
  },
]

const conditionsOf = (q: string, application: string, connection: string) => ({
  ...(q.trim() !== '' && { search: q.trim() }),
  ...(application !== '' && { applicationName: application }),
  ...(connection !== '' && { connection }),
})

const orderOf = (sort: string): Pick<Conditions, 'sort' | 'sortOrder'> => ({
  sort: apiKeys[sort.replace('-', '') as keyof typeof apiKeys],
  sortOrder: sort.startsWith('-') ? 'desc' : 'asc',
})

export default function EndpointsPage() {
  const address = useAddressState({
    q: text(),
    application: text(),
    connection: oneOf(connections, ''),
    sort: oneOf(sortKeys, 'created'),
  })
  const { q, application, connection, sort } = address.values
  const [, navigate] = useLocation()
  const [selection, setSelection] = useState<Selection>(nothingSelected)
  const may = useMay()
  const conditions = conditionsOf(q, application, connection)
  const args = { ...conditions, ...orderOf(sort), include: 'metadata', limit: pageSize }
  const list = useList('endpoints.directory.list', args)
  // The first rows do not wait for the number of all.
  const counts = useGet('endpoints.counts.get', conditions)
  const total = counts.data?.complete ? counts.data.total : undefined
  const isFiltered = Object.keys(conditions).length > 0
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="endpoints.directory.list" args={args} />
            {may('application:endpoint:create') && <CreateButton />}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <ApplicationChoice value={application} onChange={(application) => address.set({ application })} />
        <SelectField
          label={texts.columns.state}
          value={connection === '' ? '*' : connection}
          onChange={(value) => address.set({ connection: connections.find((one) => one === value) ?? '' })}
          options={[
            { value: '*', label: texts.anyConnection },
            ...connections
              .slice(1)
              .map((state) => ({ value: state, label: texts.connections[state as ConnectionState] })),
          ]}
          isCompact
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={{ ...list, total: list.hasMore ? total : list.items.length }}
        columns={columns}
        rowId={({ endpointId }) => endpointId}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        {...(may('endpoint:delete') && {
          selection,
          onSelect: setSelection,
          // A job selects by application only, so nothing else may decide which endpoints are meant.
          allowsAll: q.trim() === '' && connection === '',
          bulkActions: (
            <DeleteSelected
              selection={selection}
              application={application}
              onDone={() => setSelection(nothingSelected)}
            />
          ),
        })}
        empty={isFiltered ? <NoMatch onClear={address.reset} /> : <NoEndpoints />}
      />
    </>
  )
}

const CreateButton = () => (
  <span data-create="">
    <LinkButton to="/endpoints/new" look="primary" icon="plus">
      {texts.create}
    </LinkButton>
  </span>
)

const NoMatch = ({ onClear }: { onClear(): void }) => (
  <EmptyState icon="search" title={texts.noMatchTitle} actions={<Button onPress={onClear}>{texts.clear}</Button>}>
    {texts.noMatchText}
  </EmptyState>
)

const NoEndpoints = () => (
  <EmptyState icon="cpu" title={texts.emptyTitle} actions={<CreateButton />}>
    {texts.emptyText}
  </EmptyState>
)

function ApplicationChoice({ value, onChange }: { value: string; onChange(name: string): void }) {
  const { items } = useList('applications.list', {})
  const options = items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))
  return (
    <SelectField
      label={texts.application}
      value={value === '' ? '*' : value}
      onChange={(name) => onChange(name === '*' ? '' : name)}
      options={[{ value: '*', label: texts.allApplications }, ...options]}
      isCompact
    />
  )
}
