/** The list of assets and the list of asset types, as two tabs. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ArgumentsOf, ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
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
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { nameOf } from './name.ts'
import { texts } from './texts.ts'

type Asset = ItemOf<'assets.list'>
type AssetType = ItemOf<'assetTypes.list'>

const tabIds = ['assets', 'types'] as const
const sortKeys = ['-updated', 'updated'] as const
const addressOf = ({ id }: Asset) => `/assets/${encodeURIComponent(id)}`

const columnsOf = (types: AssetType[]): Column<Asset>[] => [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.5fr)' },
    cell: (asset) => (
      <Link to={addressOf(asset)}>
        <Text value={nameOf(asset)} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'type', title: texts.columns.type },
    cell: ({ assetTypeId }) => (
      <Text value={types.find(({ id }) => id === assetTypeId)?.displayName ?? assetTypeId} max={60} />
    ),
  },
  {
    ...{ id: 'definition', title: texts.columns.definition, width: 'minmax(12rem, 3fr)' },
    cell: ({ definition }) => <Text value={definition} max={160} mono />,
  },
  {
    ...{ id: 'updated', title: texts.columns.updated, isSortable: true },
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
]

const typeColumns: Column<AssetType>[] = [
  {
    ...{ id: 'name', title: texts.typeColumns.name },
    cell: ({ id, displayName }) => (
      <Link to={`/assets/types/${encodeURIComponent(id)}`}>
        <Text value={displayName} max={80} />
      </Link>
    ),
  },
  { ...{ id: 'type', title: texts.typeColumns.type }, cell: ({ type }) => <Text value={type} max={60} mono /> },
  {
    ...{ id: 'description', title: texts.typeColumns.description, width: 'minmax(12rem, 2fr)' },
    cell: ({ description }) => <Text value={description} max={120} />,
  },
  { ...{ id: 'updated', title: texts.typeColumns.updated }, cell: ({ updatedAt }) => <Time value={updatedAt} /> },
]

const useView = () =>
  useAddressState({ tab: oneOf(tabIds, 'assets'), q: text(), type: text(), sort: oneOf(sortKeys, '-updated') })

export default function AssetsPage() {
  const address = useView()
  const { tab } = address.values
  const may = useMay()
  const mayTypes = may('asset-type:read')
  const types = useList('assetTypes.list', { size: 100 }, { enabled: mayTypes })
  const { type } = address.values
  const newAddress = type === '' ? '/assets/new' : `/assets/new?type=${encodeURIComponent(type)}`
  const tabs = tabIds.filter((id) => id === 'assets' || mayTypes)
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation={tab === 'types' ? 'assetTypes.list' : 'assets.list'} />
            {tab === 'types' && may('tenant:asset-type:create') && (
              <span data-create>
                <LinkButton to="/assets/types/new" look="primary" icon="plus">
                  {texts.createType}
                </LinkButton>
              </span>
            )}
            {tab === 'assets' && may('asset-type:asset:create') && (
              <span data-create>
                <LinkButton to={newAddress} look="primary" icon="plus">
                  {texts.create}
                </LinkButton>
              </span>
            )}
          </>
        }
      />
      <Tabs label={texts.tabs.label} current={tab} tabs={tabs.map((id) => ({ id, title: texts.tabs[id] }))}>
        {tab === 'assets' ? (
          <AssetTable address={address} types={types.items} />
        ) : (
          <DataTable
            label={texts.tabs.types}
            list={types}
            columns={typeColumns}
            rowId={({ id }) => id}
            rowName={({ displayName }) => displayName}
            empty={
              <EmptyState icon="tag" title={texts.typesEmptyTitle}>
                {texts.typesEmptyText}
              </EmptyState>
            }
          />
        )}
      </Tabs>
    </>
  )
}

function AssetTable({ address, types }: { address: ReturnType<typeof useView>; types: AssetType[] }) {
  const { q, type, sort } = address.values
  const args: ArgumentsOf<'assets.list'> = {
    ...(q.trim() !== '' && { search: q.trim() }),
    ...(type !== '' && { assetTypeIds: type }),
    ...{ sort: 'updatedAt', sortOrder: sort.startsWith('-') ? 'desc' : 'asc', size: 100 },
  }
  const list = useList('assets.list', args)
  const [, navigate] = useLocation()
  return (
    <>
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
        <SelectField
          label={texts.type}
          value={type === '' ? '*' : type}
          onChange={(value) => address.set({ type: value === '*' ? '' : value })}
          options={[
            { value: '*', label: texts.anyType },
            ...types.map(({ id, displayName }) => ({ value: id, label: displayName })),
          ]}
          isCompact
        />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columnsOf(types)}
        rowId={({ id }) => id}
        rowName={(row) => nameOf(row)}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          q.trim() !== '' || type !== '' ? (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState icon="boxes" title={texts.emptyTitle}>
              {texts.emptyText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
