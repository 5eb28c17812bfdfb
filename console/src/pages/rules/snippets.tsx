/** Parts of scripts that users store and copy into rules. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { libraryTexts as texts } from './library-texts.ts'

type Snippet = ItemOf<'snippets.list'>

const addressOf = ({ id }: Snippet) => `/rules/snippets/${encodeURIComponent(id)}`

const columns: Column<Snippet>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: (snippet) => (
      <Link to={addressOf(snippet)}>
        <Text value={snippet.name} max={100} />
      </Link>
    ),
  },
  {
    ...{ id: 'code', title: texts.code, width: 'minmax(12rem, 2fr)' },
    cell: ({ code }) => <Text value={code} max={120} mono />,
  },
  {
    ...{ id: 'description', title: texts.columns.description, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ description }) => <Text value={description} max={120} />,
  },
  { ...{ id: 'updated', title: texts.columns.updated }, cell: ({ updatedAt }) => <Time value={updatedAt} /> },
]

export function Snippets({ address }: { address: AddressState<{ q: string }> }) {
  const { q } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const list = useList('snippets.list', {
    ...(q.trim() !== '' && { name: q.trim() }),
    ...{ sort: 'updatedAt', sortOrder: 'desc', size: 100 },
  })
  return (
    <>
      <FilterBar address={{ ...address, isChanged: q !== '', reset: () => address.set({ q: '' }) }}>
        <SearchBox label={texts.searchName} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.snippets}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          <EmptyList
            icon="code"
            title={texts.noSnippetsTitle}
            isFiltered={q.trim() !== ''}
            onClear={() => address.set({ q: '' })}
            actions={
              may('tenant:snippet:create') && (
                <LinkButton to="/rules/snippets/new" icon="plus">
                  {texts.newSnippet}
                </LinkButton>
              )
            }
          >
            {texts.noSnippetsText}
          </EmptyList>
        }
      />
    </>
  )
}
