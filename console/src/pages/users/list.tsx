/** The users of the tenant. */
import { useLocation } from 'wouter'
import { useMay, useMe } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { texts } from './texts.ts'

type User = ItemOf<'users.list'>

const addressOf = ({ id }: User) => `/users/${encodeURIComponent(id)}`

const columnsOf = (ownId: string | undefined): Column<User>[] => [
  {
    ...{ id: 'username', title: texts.columns.username, width: 'minmax(11rem, 1.5fr)' },
    cell: (user) => (
      <>
        <Link to={addressOf(user)}>
          <Text value={user.username} max={60} />
        </Link>
        {user.id === ownId && <span className="quiet"> · {texts.you}</span>}
      </>
    ),
  },
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(9rem, 1.2fr)' },
    cell: ({ firstName, lastName }) => <Text value={[firstName, lastName].filter(Boolean).join(' ')} max={60} />,
  },
  {
    ...{ id: 'email', title: texts.columns.email, width: 'minmax(11rem, 1.5fr)' },
    cell: ({ email }) => <Text value={email} max={80} />,
  },
  {
    ...{ id: 'roles', title: texts.columns.roles, width: 'minmax(10rem, 1.5fr)' },
    cell: ({ roles }) => <Text value={roles.join(', ')} max={80} />,
  },
  {
    ...{ id: 'state', title: texts.columns.state, width: '9rem' },
    cell: ({ enabled }) => <Badge tone={enabled ? 'good' : 'quiet'}>{enabled ? texts.enabled : texts.disabled}</Badge>,
  },
]

export default function UsersPage() {
  const address = useAddressState({ q: text() })
  const { q } = address.values
  const [, navigate] = useLocation()
  const may = useMay()
  const { data: me } = useMe()
  const list = useList('users.list', q === '' ? {} : { search: q })
  const create = may('identity:user:create') && (
    <span data-create="">
      <LinkButton to="/users/new" look="primary" icon="plus">
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
            <AsCommand operation="users.list" args={q === '' ? {} : { search: q }} />
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
        columns={columnsOf(me?.subject.id)}
        rowId={({ id }) => id}
        rowName={({ username }) => username}
        onOpen={(row) => navigate(addressOf(row))}
        empty={
          q === '' ? (
            <EmptyState icon="users" title={texts.emptyTitle} actions={create}>
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
