/** The list of endpoints: search, sort and selection, at any number of endpoints. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { escapeExpression } from '../../api/search.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
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
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Endpoint = ItemOf<'endpoints.search'>
type Search = ArgumentsOf<'endpoints.search'>['body']

/** The platform accepts this many ids in one request. */
const deletionsMax = 1000
const pageSize = 100
const sortKeys = ['id', '-id', 'version', '-version', 'created', '-created'] as const
const apiKeys = { id: 'endpointId', version: 'appVersion.name', created: 'createdDate' }

const addressOf = ({ endpointId }: Endpoint) => `/endpoints/${encodeURIComponent(endpointId)}`

export const Connection = ({ metadata = {} }: Pick<Endpoint, 'metadata'>) => {
  if (metadata.connected === true) return <Badge tone="good">{texts.connected}</Badge>
  if (metadata.connected === false) return <Badge>{texts.disconnected}</Badge>
  return <span className="text-none">{texts.unknown}</span>
}

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
    ...{ id: 'version', title: texts.columns.version, isSortable: true },
    cell: ({ appVersion }) => <Text value={appVersion.name} max={60} />,
  },
  { id: 'state', title: texts.columns.state, cell: (endpoint) => <Connection metadata={endpoint.metadata ?? {}} /> },
  {
    ...{ id: 'created', title: texts.columns.created, isSortable: true },
    cell: ({ createdDate }) => <Time value={createdDate} />,
  },
]

function searchOf(q: string, application: string, sort: string): Search {
  const key = apiKeys[sort.replace('-', '') as keyof typeof apiKeys]
  return {
    and: [],
    ...(q !== '' && { regex: `(?i)${escapeExpression(q)}` }),
    ...(application !== '' && { applicationName: application }),
    ...(sort !== 'created' && { sort: key, sortOrder: sort.startsWith('-') ? 'desc' : 'asc' }),
    include: ['metadata'],
    limit: pageSize,
  }
}

export default function EndpointsPage() {
  const address = useAddressState({ q: text(), application: text(), sort: oneOf(sortKeys, 'created') })
  const { q, application, sort } = address.values
  const [, navigate] = useLocation()
  const [selection, setSelection] = useState<Selection>(nothingSelected)
  const may = useMay()
  const body = searchOf(q, application, sort)
  const list = useList('endpoints.search', { body })
  const isFiltered = q !== '' || application !== ''
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="endpoints.search" args={{ body }} />
            {may('application:endpoint:create') && (
              <span data-create="">
                <LinkButton to="/endpoints/new" look="primary" icon="plus">
                  {texts.create}
                </LinkButton>
              </span>
            )}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <ApplicationChoice value={application} onChange={(application) => address.set({ application })} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ endpointId }) => endpointId}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        {...(may('endpoint:delete') && {
          selection,
          onSelect: setSelection,
          bulkActions: (
            <DeleteSelected selection={selection} total={list.total} onDone={() => setSelection(nothingSelected)} />
          ),
        })}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState
              icon="cpu"
              title={texts.emptyTitle}
              actions={
                <LinkButton to="/endpoints/new" look="primary" icon="plus">
                  {texts.create}
                </LinkButton>
              }
            >
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}

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

function DeleteSelected({
  selection,
  total,
  onDone,
}: {
  selection: Selection
  total: number | undefined
  onDone(): void
}) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('endpoints.deleteMany')
  const toast = useToast()
  const ids = selection.kind === 'some' ? [...selection.ids] : []
  const selected = selection.kind === 'all' ? (total ?? 0) : ids.length
  const isTooMany = selection.kind === 'all' || selected > deletionsMax
  async function deleteAll() {
    const outcome = await change.run({ body: { endpointIds: ids } })
    if (outcome.kind !== 'done') return
    const { deletedCount, failedCount, failed } = outcome.body
    if (deletedCount > 0) toast(texts.deleted(deletedCount))
    if (failedCount > 0) toast(texts.partly(failedCount, failed[0]?.reason ?? ''), 'bad')
    setOpen(false)
    onDone()
  }
  return (
    <>
      <Button
        size="small"
        look="danger"
        icon="trash"
        onPress={() => (isTooMany ? toast(texts.tooMany(deletionsMax), 'bad') : setOpen(true))}
      >
        {texts.delete}
      </Button>
      <ConfirmDelete
        what={texts.what(selected)}
        also={[{ name: texts.deleteNote, count: selected }]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void deleteAll()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
