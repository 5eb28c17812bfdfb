/** The list of the API keys that the caller may see. The page searches the list itself. */
import { useState } from 'react'
import { useMay, useMe } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { msOf, nowMs, Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type ApiKey = ItemOf<'apiKeys.list'>

const expiresSoonMs = 14 * 86_400_000

function Expiry({ at }: { at: string | undefined }) {
  if (at === undefined) return texts.never
  const left = msOf(at) - nowMs()
  if (left <= 0) return <Badge tone="bad">{texts.expired}</Badge>
  return left < expiresSoonMs ? (
    <Badge tone="warn">
      <Time value={at} />
    </Badge>
  ) : (
    <Time value={at} style="day" />
  )
}

interface Context {
  names: Map<string, string>
  ownId: string | undefined
  onRevoke?: ((key: ApiKey) => void) | undefined
}

const columnsOf = ({ names, ownId, onRevoke }: Context): Column<ApiKey>[] => [
  {
    ...{ id: 'name', title: texts.columns.name, width: 'minmax(10rem, 1.3fr)' },
    cell: ({ name }) => <Text value={name} max={80} />,
  },
  {
    ...{ id: 'owner', title: texts.columns.owner, width: 'minmax(8rem, 1fr)' },
    cell: ({ owner }) =>
      owner.id === ownId ? (
        texts.you
      ) : owner.type === 'user' && names.has(owner.id) ? (
        <Link to={`/users/${encodeURIComponent(owner.id)}`}>
          <Text value={names.get(owner.id)} max={60} />
        </Link>
      ) : (
        <>
          <span className="quiet">{texts.kinds[owner.type] ?? owner.type}</span> <Text value={owner.id} max={60} />
        </>
      ),
  },
  {
    ...{ id: 'scopes', title: texts.columns.scopes, width: 'minmax(11rem, 1.5fr)' },
    cell: ({ scopes }) =>
      scopes === undefined ? (
        <span className="quiet">{texts.everything}</span>
      ) : (
        <Text value={scopes.join(', ')} max={100} mono />
      ),
  },
  {
    ...{ id: 'used', title: texts.columns.used, width: '9rem' },
    cell: ({ lastUsedAt }) => (lastUsedAt ? <Time value={lastUsedAt} /> : texts.never),
  },
  {
    ...{ id: 'expires', title: texts.columns.expires, width: '11rem' },
    cell: ({ expiresAt }) => <Expiry at={expiresAt} />,
  },
  ...(onRevoke
    ? [
        {
          ...{ id: 'actions', title: '', width: '7rem', align: 'end' as const },
          cell: (key: ApiKey) => (
            <Button size="small" onPress={() => onRevoke(key)}>
              {texts.revoke}
            </Button>
          ),
        },
      ]
    : []),
]

export default function ApiKeysPage() {
  const [revoking, setRevoking] = useState<ApiKey>()
  const address = useAddressState({ q: text() })
  const { q } = address.values
  const may = useMay()
  const { data: me } = useMe()
  const list = useList('apiKeys.list', { limit: 0 })
  const users = useList('users.list', { limit: 0 }, { enabled: may('identity:user:read') })
  const names = new Map(users.items.map(({ id, username }) => [id, username]))
  const searchText = q.toLowerCase()
  const items = list.items.filter(({ name, owner }) =>
    [name, owner.id, names.get(owner.id)].some((part) => part?.toLowerCase().includes(searchText)),
  )
  const create = may('identity:api-key:create') && (
    <span data-create="">
      <LinkButton to="/api-keys/new" look="primary" icon="plus">
        {texts.create}
      </LinkButton>
    </span>
  )
  const onRevoke = may('identity:api-key:delete') ? setRevoking : undefined
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation="apiKeys.list" />
            {create}
          </>
        }
      />
      <FilterBar address={address}>
        <SearchBox label={texts.search} value={q} onChange={(q) => address.set({ q })} />
      </FilterBar>
      <DataTable
        label={texts.title}
        list={{ ...list, items, total: items.length }}
        columns={columnsOf({ names, ownId: me?.subject.id, onRevoke })}
        rowId={({ id }) => id}
        rowName={({ name }) => name}
        empty={
          q === '' ? (
            <EmptyState icon="key" title={texts.emptyTitle} actions={create}>
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
      {revoking && <Revoke apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

function Revoke({ apiKey: { id, name }, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const change = useChange('apiKeys.delete', { also: ['grants', 'access'] })
  const toast = useToast()
  async function run() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.revoked)
    onClose()
  }
  return (
    <Confirm
      title={texts.revokeTitle(name.slice(0, 80))}
      action={texts.revoke}
      isDanger
      isOpen
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {texts.revokeText}
    </Confirm>
  )
}
