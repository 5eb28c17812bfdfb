/** The tenants of the platform. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { TenantStatus } from './status.tsx'
import { texts } from './texts.ts'

type Tenant = ItemOf<'tenants.list'>

const sortKeys = ['name', '-name', 'created', '-created'] as const
const addressOf = ({ id }: Tenant) => `/tenants/${encodeURIComponent(id)}`
const refreshMs = 5_000

const columns: Column<Tenant>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, isSortable: true, width: 'minmax(11rem, 1.5fr)' },
    cell: (tenant) => (
      <Link to={addressOf(tenant)}>
        <Text value={tenant.name} max={80} />
      </Link>
    ),
  },
  {
    ...{ id: 'id', title: texts.columns.id, width: 'minmax(8rem, 1fr)' },
    cell: ({ tenant_id }) => <Text value={tenant_id} max={63} mono />,
  },
  {
    ...{ id: 'status', title: texts.columns.status, width: '9rem' },
    cell: ({ status }) => <TenantStatus status={status} />,
  },
  {
    ...{ id: 'package', title: texts.columns.package, width: '8rem' },
    cell: ({ package_type }) => <Text value={package_type} max={40} />,
  },
  {
    ...{ id: 'admin', title: texts.columns.admin, width: 'minmax(9rem, 1fr)' },
    cell: ({ admin }) => <Text value={admin?.email || admin?.username} max={60} />,
  },
  {
    ...{ id: 'created', title: texts.columns.created, isSortable: true, width: '9rem' },
    cell: ({ created }) => <Time value={created} />,
  },
]

export default function TenantsPage() {
  const address = useAddressState({ q: text(), sort: oneOf(sortKeys, '-created') })
  const { q, sort } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const args = {
    ...(q !== '' && { search: q }),
    sort_by: sort.replace('-', '') as 'name' | 'created',
    sort_order: sort.startsWith('-') ? ('desc' as const) : ('asc' as const),
  }
  const list = useList('tenants.list', args, { refreshMs })
  const create = may('identity:tenant:create') && (
    <span data-create="">
      <LinkButton to="/tenants/new" look="primary" icon="plus">
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
            <AsCommand operation="tenants.list" args={args} />
            {create}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={list}
        columns={columns}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        sort={sort}
        onSort={(sort) => address.set({ sort: sort as (typeof sortKeys)[number] })}
        empty={
          q === '' ? (
            <EmptyState icon="building" title={texts.emptyTitle} actions={create}>
              {texts.emptyText}
            </EmptyState>
          ) : (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={address.reset}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
