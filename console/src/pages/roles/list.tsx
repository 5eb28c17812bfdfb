/** Tabs for roles, for grants, and for the question who has a permission and why. The address names the tab. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { type RolesAddress, tabIds, useRolesAddress } from './address.ts'
import { Grants } from './grants.tsx'
import { texts } from './texts.ts'
import { WhoMay } from './who-may.tsx'

type Role = ItemOf<'roles.list'>

const addressOf = ({ name }: Role) => `/roles/${encodeURIComponent(name)}`

const columns: Column<Role>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1fr)' },
    cell: (role) => (
      <Link to={addressOf(role)}>
        <Text value={role.name} max={60} />
      </Link>
    ),
  },
  {
    ...{ id: 'description', title: texts.columns.description, width: 'minmax(14rem, 2.5fr)' },
    cell: ({ description }) => <Text value={description} max={120} />,
  },
  {
    ...{ id: 'scopes', title: texts.columns.scopes, width: '6rem', align: 'end' },
    cell: ({ scopes }) => texts.scopesOf(scopes),
  },
  {
    ...{ id: 'kind', title: texts.columns.kind, width: '8rem' },
    cell: ({ builtIn }) => (builtIn ? <Badge>{texts.builtIn}</Badge> : <Badge tone="info">{texts.own}</Badge>),
  },
]

export default function RolesPage() {
  const address = useRolesAddress()
  const may = useMay()
  const { tab } = address.values
  const mayGrants = may('identity:grant:read')
  const mayAsk = mayGrants && may('identity:user:read')
  const tabs = tabIds.filter((one) => one === 'roles' || (one === 'grants' ? mayGrants : mayAsk))
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            {tab === 'roles' && <AsCommand operation="roles.list" />}
            {tab === 'grants' && <AsCommand operation="grants.list" />}
            {tab === 'who' && (
              <AsCommand
                operation="access.list"
                args={{ scope: address.values.scope, resource: address.values.resource || 'tenant-system' }}
              />
            )}
            {tab === 'roles' && may('identity:role:create') && <CreateRole />}
          </>
        }
      />
      <Tabs
        label={texts.tabs.label}
        current={tab}
        tabs={tabs.map((one) => ({
          id: one,
          title: texts.tabs[one],
        }))}
      >
        {tab === 'roles' && <RoleList address={address} />}
        {tab === 'grants' && mayGrants && <Grants address={address} />}
        {tab === 'who' && mayAsk && <WhoMay address={address} />}
      </Tabs>
    </>
  )
}

const CreateRole = () => (
  <span data-create="">
    <LinkButton to="/roles/new" look="primary" icon="plus">
      {texts.create}
    </LinkButton>
  </span>
)

function RoleList({ address }: { address: RolesAddress }) {
  const list = useList('roles.list', { limit: 0 })
  const [, navigate] = useLocation()
  const may = useMay()
  const { q } = address.values
  const searchText = q.toLowerCase()
  const items = list.items.filter(({ name, description = '', scopes }) =>
    [name, description, ...scopes].some((part) => part.toLowerCase().includes(searchText)),
  )
  return (
    <>
      <FilterBar address={{ ...address, isChanged: q !== '' }}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.tabs.roles}
        list={{ ...list, items, total: items.length }}
        columns={columns}
        rowId={({ name }) => name}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          q === '' ? (
            <EmptyState icon="shield" title={texts.emptyTitle} actions={may('identity:role:create') && <CreateRole />}>
              {texts.emptyText}
            </EmptyState>
          ) : (
            <EmptyState
              icon="search"
              title={texts.noMatchTitle}
              actions={<Button onPress={() => address.set({ q: '' })}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          )
        }
      />
    </>
  )
}
