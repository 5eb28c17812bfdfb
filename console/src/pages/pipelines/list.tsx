/** The pipelines of the tenant, and the documents of its applications. The API returns all pipelines, so the page searches them itself. */
import { useLocation } from 'wouter'
import { useMay, useMe } from '../../api/me.ts'
import { useGet } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { EmptyList } from '../../parts/empty-list.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { type Pipeline, pipelinesOf, typeOf } from './definition.ts'
import { Documents, whichDocuments } from './documents.tsx'
import { texts } from './texts.ts'

const tabIds = ['pipelines', 'documents'] as const
const addressOf = ({ id }: Pipeline) => `/pipelines/${encodeURIComponent(id)}`
const typesOf = ({ definition }: Pipeline) => definition.processors.map(typeOf).join(', ')

const columns: Column<Pipeline>[] = [
  {
    ...{ id: 'id', title: texts.columns.id, width: 'minmax(10rem, 1fr)' },
    cell: (pipeline) => (
      <Link to={addressOf(pipeline)}>
        <Text value={pipeline.id} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'description', title: texts.columns.description, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ definition }) => <Text value={definition.description} max={120} />,
  },
  {
    ...{ id: 'processors', title: texts.columns.processors, width: 'minmax(12rem, 2fr)' },
    cell: (pipeline) => <Text value={typesOf(pipeline)} max={100} mono />,
  },
  {
    ...{ id: 'number', title: texts.columns.number, width: '7rem', align: 'end' },
    cell: ({ definition }) => count(definition.processors.length),
  },
  {
    ...{ id: 'failure', title: texts.columns.failure, width: '8rem', align: 'end' },
    cell: ({ definition }) => count(definition.on_failure?.length ?? 0),
  },
]

export default function PipelinesPage() {
  const address = useAddressState({
    tab: oneOf(tabIds, 'pipelines'),
    q: text(),
    application: text(),
    endpoint: text(),
    which: oneOf(whichDocuments, 'all'),
  })
  const may = useMay()
  const tabs = tabIds.filter((id) => may('application:read', ...(id === 'pipelines' ? ['tenant-system'] : [])))
  // Users who may read only single applications have no tab for the pipelines of the tenant.
  const tab = tabs.find((id) => id === address.values.tab) ?? tabs[0] ?? 'pipelines'
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            {tab === 'pipelines' && <AsCommand operation="ingest.pipelines.list" />}
            {tab === 'pipelines' && may('application:update', 'tenant-system') && (
              <span data-create="">
                <LinkButton to="/pipelines/new" look="primary" icon="plus">
                  {texts.create}
                </LinkButton>
              </span>
            )}
          </>
        }
      />
      <Tabs
        label={texts.listTabs.label}
        current={tab}
        tabs={tabs.map((id) => ({
          id,
          title: texts.listTabs[id],
        }))}
      >
        {tab === 'documents' ? (
          <Documents address={address} />
        ) : (
          <PipelineTable q={address.values.q} onSearch={(q) => address.set({ q })} address={address} />
        )}
      </Tabs>
    </>
  )
}

interface TableProps {
  q: string
  onSearch(q: string): void
  address: { isChanged: boolean; invalid: string[]; reset(): void }
}

function PipelineTable({ q, onSearch, address }: TableProps) {
  const pipelines = useGet('ingest.pipelines.list', {})
  const { data: me } = useMe()
  const [, navigate] = useLocation()
  const may = useMay()
  const searchText = q.trim().toLowerCase()
  const items = pipelinesOf(pipelines.data, me?.tenantId ?? '').filter((pipeline) =>
    [pipeline.id, pipeline.definition.description, typesOf(pipeline)].some((part) =>
      String(part ?? '')
        .toLowerCase()
        .includes(searchText),
    ),
  )
  return (
    <>
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={onSearch} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={{
          ...{ items, total: items.length, isOld: false, hasMore: false, isLoadingMore: false },
          ...{ isLoading: pipelines.isLoading, problem: pipelines.problem },
          loadMore: () => {},
          reload: () => void pipelines.reload(),
        }}
        columns={columns}
        rowId={({ id }) => id}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          <EmptyList
            icon="fork"
            title={texts.emptyTitle}
            isFiltered={searchText !== ''}
            onClear={() => onSearch('')}
            actions={
              may('application:update', 'tenant-system') && (
                <LinkButton to="/pipelines/new" icon="plus">
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
