/** The filters of one application. */
import { useLocation } from 'wouter'
import { useApplications } from '../../api/applications.ts'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Filter = ItemOf<'endpointFilters.list'>

const pathOf = (application: string, id: string) =>
  `/filters/${encodeURIComponent(application)}/${encodeURIComponent(id)}`

const columnsOf = (application: string): Column<Filter>[] => [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ id, name }) => (
      <Link to={pathOf(application, id)}>
        <Text value={name} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'description', title: texts.columns.description, width: 'minmax(10rem, 2fr)' },
    cell: ({ description }) => <Text value={description} max={100} />,
  },
  {
    ...{ id: 'status', title: texts.columns.status, width: '8rem' },
    cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'info'}>{texts.status[status]}</Badge>,
  },
  {
    ...{ id: 'members', title: texts.columns.members, width: '8rem', align: 'end' },
    cell: ({ matchedEndpointsCount }) => count(matchedEndpointsCount),
  },
  {
    ...{ id: 'updated', title: texts.columns.updated, width: '9rem' },
    cell: ({ updatedDate }) => <Time value={updatedDate} />,
  },
]

export default function FiltersPage() {
  const address = useAddressState({ q: text(), application: text() })
  const applications = useApplications()
  const first = applications.items[0]?.name ?? ''
  const { q } = address.values
  const application = address.values.application || first
  const [, navigate] = useLocation()
  const may = useMay()
  const args = { applicationName: application, ...(q !== '' && { name: q }) }
  const list = useList('endpointFilters.list', args, { enabled: application !== '', refreshMs: 5_000 })
  const createPath = `/filters/${encodeURIComponent(application)}/new`
  const mayCreate = application !== '' && may('application:endpoint-filter:create', `application-${application}`)
  const create = mayCreate && (
    <span data-create="">
      <LinkButton to={createPath} look="primary" icon="plus">
        {texts.create}
      </LinkButton>
    </span>
  )
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="endpointFilters.list" args={args} />
            {create}
          </>
        }
      />
      {applications.isLoading ? (
        <Loading label={texts.loading} />
      ) : applications.problem ? (
        <ErrorNote problem={applications.problem} onRetry={applications.reload} />
      ) : application === '' ? (
        <EmptyState
          icon="layers"
          title={texts.emptyTitle}
          actions={<LinkButton to="/applications">{texts.toApplications}</LinkButton>}
        >
          {texts.noApplications}
        </EmptyState>
      ) : (
        <>
          <FilterBar address={address}>
            <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
            <SelectField
              label={texts.application}
              value={application}
              onChange={(application) => address.set({ application })}
              options={applications.items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))}
              isCompact
            />
          </FilterBar>
          <DataTable
            label={texts.title}
            list={list}
            columns={columnsOf(application)}
            rowId={({ id }) => id}
            rowName={({ name }) => name}
            onOpen={({ id }) => navigate(pathOf(application, id))}
            empty={
              q === '' ? (
                <EmptyState icon="filter" title={texts.emptyTitle} actions={create}>
                  {texts.empty}
                </EmptyState>
              ) : (
                <EmptyState
                  icon="search"
                  title={texts.noMatchTitle}
                  actions={<Button onPress={() => address.set({ q: '' })}>{texts.clear}</Button>}
                >
                  {texts.noMatch}
                </EmptyState>
              )
            }
          />
        </>
      )}
    </>
  )
}
