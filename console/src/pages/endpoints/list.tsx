/** The list of endpoints, for any number of endpoints: search, sort, conditions with counts, selection, and jobs over many endpoints. */
import { memo, startTransition, useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { ConnectionBadge, connectionTexts } from '../../parts/connection.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { nothingSelected, type Selection } from '../../parts/selection.ts'
import { cut, Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { BulkActions, BulkDialog, type BulkProps } from './bulk.tsx'
import type { BulkKind } from './bulk-form.tsx'
import { activities, type Conditions, conditionsOf, connections, sortOf, useConditions } from './conditions.ts'
import { texts } from './texts.ts'

type Endpoint = ItemOf<'endpoints.directory.list'>
type Counts = BodyOf<'endpoints.counts.get'>
type Address = ReturnType<typeof useConditions>

const pageSize = 100
const refreshMs = 30_000
const topValues = 200
/** Maximum length of a list that is read again automatically. Longer lists would need many requests, because each page is a request. */
const refreshedMax = 2 * pageSize

const addressOf = ({ endpointId }: Endpoint) => `/endpoints/${encodeURIComponent(endpointId)}`

const columns: Column<Endpoint>[] = [
  {
    ...{ id: 'id', title: texts.columns.id, width: 'minmax(10rem, 1.3fr)', isSortable: true },
    cell: (endpoint) => (
      <Link to={addressOf(endpoint)}>
        <Text value={endpoint.endpointId} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(9rem, 1.5fr)', isSortable: true },
    cell: ({ metadata }) => <Text value={metadata?.name} max={80} />,
  },
  {
    ...{ id: 'connection', title: texts.columns.connection, width: '10.5rem' },
    cell: ({ connection }) => <ConnectionBadge state={connection} />,
  },
  {
    ...{ id: 'activity', title: texts.columns.activity, width: '9rem', isSortable: true },
    cell: ({ lastActivity }) => <Time value={lastActivity} />,
  },
  {
    ...{ id: 'version', title: texts.columns.version, width: 'minmax(9rem, 1fr)' },
    cell: ({ appVersion }) => <Text value={appVersion.name} max={60} />,
  },
  {
    ...{ id: 'created', title: texts.columns.created, width: '8.5rem', isSortable: true },
    cell: ({ createdDate }) => <Time value={createdDate} />,
  },
]

const valuesOf = (counts: Counts | undefined, by: string) =>
  counts?.counts.find((one) => one.by === by)?.values.map(({ value, count }) => ({ value: String(value), count })) ?? []

/**
 * Counts endpoints for the options of each condition. The condition itself is not applied to its own counts, so each option shows how many
 * endpoints it would list.
 */
function useCounts(conditions: Conditions, enabled: boolean) {
  const { connection: _, ...withoutConnection } = conditions
  const { applicationName: __, applicationVersionName: ___, ...withoutVersion } = conditions
  const byConnection = useGet(
    'endpoints.counts.get',
    { ...withoutConnection, by: ['connection'] },
    { refreshMs, enabled },
  )
  const byVersion = useGet(
    'endpoints.counts.get',
    { ...withoutVersion, by: ['application', 'version'], top: topValues },
    { refreshMs, enabled },
  )
  const ofConnection = valuesOf(byConnection.data, 'connection')
  const total = conditions.connection
    ? byConnection.data && (ofConnection.find(({ value }) => value === conditions.connection)?.count ?? 0)
    : byConnection.data?.total
  return { byConnection, byVersion, ofConnection, total: byConnection.data?.complete ? total : undefined }
}

/** Maximum time for which the conditions wait for the first rows. */
const rowsSoonMs = 250

/**
 * Returns true when the first rows are painted, or when they do not arrive soon. The conditions take longer to render than the rows, so the
 * conditions are rendered afterwards, in pieces.
 */
function useAfterRows(isAnswered: boolean): boolean {
  const [isAfter, setAfter] = useState(false)
  useEffect(() => {
    if (isAfter) return
    const show = () => startTransition(() => setAfter(true))
    if (!isAnswered) {
      const timer = setTimeout(show, rowsSoonMs)
      return () => clearTimeout(timer)
    }
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(show)
    })
    return () => cancelAnimationFrame(frame)
  }, [isAfter, isAnswered])
  return isAfter
}

export default function EndpointsPage() {
  const address = useConditions()
  const { sort, ...values } = address.values
  const [, navigate] = useLocation()
  const [selection, setSelection] = useState<Selection>(nothingSelected)
  const [bulk, setBulk] = useState<BulkKind>()
  const may = useMay()
  const conditions = conditionsOf(values)
  // biome-ignore lint/correctness/useExhaustiveDependencies: this object stays the same while the address does not change
  const args = useMemo(
    () => ({ ...conditions, ...sortOf(sort), include: ['metadata'], limit: pageSize }),
    [address.values],
  )
  const loaded = useRef(0)
  const list = useList('endpoints.directory.list', args, {
    ...(loaded.current <= refreshedMax && { refreshMs }),
    reduce: ({ endpointId }) => ({ endpointId }),
  })
  loaded.current = list.items.length
  const isSearching = list.items.length === 0 && list.hasMore
  // The platform interrupts long searches and then returns an empty page, so the page continues the search.
  useEffect(() => {
    if (isSearching) list.loadMore()
  }, [isSearching, list.loadMore])
  const isAnswered = list.isRead || list.problem !== undefined
  const showsFilters = useAfterRows(isAnswered)
  // The counts are requested after the rows are painted, because the counts take longer.
  const counts = useCounts(conditions, isAnswered && showsFilters)
  const isFiltered = Object.keys(conditions).length > 0
  const change = (changed: Partial<Address['values']>) => {
    setSelection(nothingSelected)
    address.set(changed)
  }
  const bulkProps: BulkProps = {
    ...{ selection, conditions, total: counts.total, application: values.application },
    onStarted: () => setSelection(nothingSelected),
  }
  const table = { ...list, total: counts.total, isLoading: list.isLoading || isSearching }
  return (
    <>
      <Header args={args} mayCreate={may('application:endpoint:create')} />
      <Filters address={{ ...address, set: change }} counts={counts} view={address.values} isWhole={showsFilters} />
      <DataTable
        label={texts.title}
        list={table}
        columns={columns}
        rowId={({ endpointId }) => endpointId}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as typeof address.values.sort })}
        {...((may('endpoint:update') || may('endpoint:delete')) && {
          selection,
          onSelect: setSelection,
          bulkActions: <BulkActions {...bulkProps} onChoose={setBulk} />,
        })}
        empty={
          isFiltered ? (
            <NoMatch onClear={address.reset} />
          ) : (
            <NoEndpoints mayCreate={may('application:endpoint:create')} />
          )
        }
      />
      {bulk && <BulkDialog key={bulk} {...bulkProps} kind={bulk} onClose={() => setBulk(undefined)} />}
    </>
  )
}

interface HeaderProps {
  args: object
  mayCreate: boolean
}

/** The header. It is not rendered again when rows arrive. */
const Header = memo(({ args, mayCreate }: HeaderProps) => (
  <PageHeader
    title={texts.title}
    lead={texts.lead}
    actions={
      <>
        <AsCommand operation="endpoints.directory.list" args={{ ...args }} />
        <LinkButton to="/map" icon="map">
          {texts.map}
        </LinkButton>
        {mayCreate && (
          <span data-create="">
            <LinkButton to="/endpoints/new" look="primary" icon="plus">
              {texts.create}
            </LinkButton>
          </span>
        )}
      </>
    }
  />
))

interface FiltersProps {
  address: Address
  counts: ReturnType<typeof useCounts>
  /** The values in the address. The object stays the same while the address does not change. */
  view: Address['values']
  /** If false, only the search field is shown, without the other conditions. */
  isWhole: boolean
}

/**
 * The search field and the choices. They take longer to render than the rows, so they are rendered again only if the address or the counts
 * change.
 */
const Filters = memo(
  FilterFields,
  (before, now) =>
    before.view === now.view &&
    before.isWhole === now.isWhole &&
    before.counts.byConnection.data === now.counts.byConnection.data &&
    before.counts.byVersion.data === now.counts.byVersion.data,
)

/**
 * The search field is part of the first render, because rendering it later, while the rows are read, would delay the rows on a slow
 * computer. The same field stays when the choices are rendered beside it, so that no typed text is lost.
 */
function FilterFields({ address, counts, isWhole }: FiltersProps) {
  return (
    <>
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={address.values.q} onChange={(q) => address.set({ q })} />
        {isWhole ? (
          <Choices address={address} counts={counts} />
        ) : (
          ['application', 'version', 'activity'].map((name) => (
            <div key={name} className="field field-compact endpoint-choice" />
          ))
        )}
      </FilterBar>
      {isWhole ? <Connections address={address} counts={counts} /> : <div className="endpoint-segments" />}
    </>
  )
}

type ChoicesProps = Pick<FiltersProps, 'address' | 'counts'>

function Choices({ address, counts: { byVersion } }: ChoicesProps) {
  const { application, version, activity } = address.values
  const applications = valuesOf(byVersion.data, 'application')
  const versions = valuesOf(byVersion.data, 'version').filter(
    ({ value }) => application === '' || value === application || value.startsWith(`${application}-`),
  )
  return (
    <>
      <CountedChoice
        label={texts.application}
        every={texts.allApplications}
        value={application}
        options={applications}
        onChange={(application) => address.set({ application, version: '' })}
      />
      <CountedChoice
        label={texts.version}
        every={texts.allVersions}
        value={version}
        options={versions}
        onChange={(version) => address.set({ version })}
      />
      <SelectField
        label={texts.activity}
        value={activity === '' ? '*' : activity}
        onChange={(key) => address.set({ activity: (key === '*' ? '' : key) as typeof activity })}
        options={[
          { value: '*', label: texts.anyActivity },
          ...activities.map((value) => ({ value, label: texts.activities[value] })),
        ]}
        isCompact
      />
    </>
  )
}

function Connections({ address, counts: { byConnection, ofConnection } }: ChoicesProps) {
  const { connection, filter, where } = address.values
  const countOf = (state: string) =>
    byConnection.data && (ofConnection.find(({ value }) => value === state)?.count ?? 0)
  return (
    <>
      <Segments
        label={texts.columns.connection}
        value={connection}
        onChange={(connection) => address.set({ connection })}
        options={[
          { value: '', label: texts.allConnections, count: byConnection.data?.total },
          ...connections.map((value) => ({ value, label: connectionTexts[value], count: countOf(value) })),
        ]}
      />
      {byConnection.data?.complete === false && <Note>{texts.incomplete}</Note>}
      {(filter !== '' || where !== '') && (
        <Note action={<Button onPress={() => address.set({ filter: '', where: '' })}>{texts.clear}</Button>}>
          {filter !== '' && texts.byFilter(cut(filter, 60).shown)}{' '}
          {where !== '' && texts.byMetadata(cut(where, 120).shown)}
        </Note>
      )}
    </>
  )
}

/** A choice that shows a count at each option; the chosen option is always listed. */
function CountedChoice({
  label,
  every,
  value,
  options,
  onChange,
}: {
  label: string
  every: string
  value: string
  options: { value: string; count: number }[]
  onChange(value: string): void
}) {
  const isMissing = value !== '' && options.every((option) => option.value !== value)
  const shown = isMissing ? [...options, { value, count: 0 }] : options
  return (
    <SelectField
      label={label}
      value={value === '' ? '*' : value}
      onChange={(key) => onChange(key === '*' ? '' : key)}
      options={[
        { value: '*', label: every },
        ...shown.map((option) => ({
          value: option.value,
          label: `${cut(option.value, 50).shown} (${count(option.count)})`,
        })),
      ]}
      isCompact
    />
  )
}

const NoMatch = ({ onClear }: { onClear(): void }) => (
  <EmptyState icon="search" title={texts.noMatchTitle} actions={<Button onPress={onClear}>{texts.clear}</Button>}>
    {texts.noMatchText}
  </EmptyState>
)

const NoEndpoints = ({ mayCreate }: { mayCreate: boolean }) => (
  <EmptyState
    icon="cpu"
    title={texts.emptyTitle}
    actions={
      mayCreate && (
        <>
          <LinkButton to="/connect" look="primary" icon="link">
            {texts.connect}
          </LinkButton>
          <LinkButton to="/endpoints/new" icon="plus">
            {texts.create}
          </LinkButton>
        </>
      )
    }
  >
    {texts.emptyText}
  </EmptyState>
)
