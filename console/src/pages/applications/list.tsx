/** The list of applications. The API returns all applications, so the page searches them itself. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

type Application = ItemOf<'applications.list'>

const sortKeys = ['name', '-name', 'updated', '-updated'] as const
const addressOf = ({ name }: Application) => `/applications/${encodeURIComponent(name)}`

const columns: Column<Application>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, isSortable: true, width: 'minmax(10rem, 1.5fr)' },
    cell: (application) => (
      <Link to={addressOf(application)}>
        <Text value={application.name} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'displayName', title: texts.columns.displayName, width: 'minmax(10rem, 2fr)' },
    cell: ({ displayName }) => <Text value={displayName} max={80} />,
  },
  {
    id: 'versions',
    title: texts.columns.versions,
    width: '7rem',
    align: 'end',
    cell: ({ versions }) => versions.length,
  },
  {
    ...{ id: 'updated', title: texts.columns.updated, isSortable: true },
    cell: ({ updatedDate }) => <Time value={updatedDate} />,
  },
]

/** Returns the items that match the search, sorted. `sort` begins with `-` for descending order. */
function shownOf(items: Application[], q: string, sort: string): Application[] {
  const searchText = q.toLowerCase()
  const direction = sort.startsWith('-') ? -1 : 1
  const key = sort.endsWith('updated') ? 'updatedDate' : 'name'
  return items
    .filter((item) =>
      [item.name, item.displayName, item.description].some((part) => part?.toLowerCase().includes(searchText)),
    )
    .sort((a, b) => direction * a[key].localeCompare(b[key]))
}

export default function ApplicationsPage() {
  const address = useAddressState({ q: text(), sort: oneOf(sortKeys, 'name') })
  const { q, sort } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const mayCreate = may('tenant:application:create') || may('platform:application:create')
  const list = useList('applications.list', {})
  const items = shownOf(list.items, q, sort)
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="applications.list" />
            {mayCreate && (
              <span data-create="">
                <LinkButton to="/applications/new" look="primary" icon="plus">
                  {texts.create}
                </LinkButton>
              </span>
            )}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={{ ...list, items, total: items.length }}
        columns={columns}
        rowId={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          <EmptyList
            icon="layers"
            title={texts.emptyTitle}
            isFiltered={q !== ''}
            onClear={address.reset}
            actions={
              mayCreate && (
                <LinkButton to="/applications/new" icon="plus">
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
