/** Passwords and certificates of devices. The API returns all credentials of a tenant, so the page searches them itself. */
import type { ReactNode } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { type ListResult, useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import type { Column } from '../../parts/data-table-types.ts'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { msOf, nowMs, Time } from '../../parts/time.tsx'
import { CredentialMenu, type Kind } from './actions.tsx'
import { texts } from './texts.ts'

type Basic = ItemOf<'basicCredentials.list'>
type X509 = ItemOf<'x509Credentials.list'>
type State = Basic['state']

const kinds = ['basic', 'x509'] as const
const states = ['Active', 'Inactive', 'Suspended', 'Revoked'] as const
const soonMs = 30 * 86_400_000
const tones: Record<State, Tone> = { Active: 'good', Inactive: 'info', Suspended: 'warn', Revoked: 'quiet' }

const scopeOf = (kind: Kind, verb: string) => `tenant:${kind}-credentials:${verb}`

/** Returns whether a certificate expires within 30 days and is not revoked. */
function isExpiring({ state, invalidAfter }: X509): boolean {
  const left = msOf(invalidAfter) - nowMs()
  return state !== 'Revoked' && left > 0 && left < soonMs
}

const StateBadge = ({ state }: { state: State }) => <Badge tone={tones[state]}>{texts.states[state]}</Badge>

function Expiry({ credential }: { credential: X509 }) {
  if (msOf(credential.invalidAfter) <= nowMs()) return <Badge tone="bad">{texts.expired}</Badge>
  return isExpiring(credential) ? (
    <Badge tone="warn">
      <Time value={credential.invalidAfter} />
    </Badge>
  ) : (
    <Time value={credential.invalidAfter} style="day" />
  )
}

/** Returns the columns that both kinds of credentials have. */
const commonColumns = <T extends Basic | X509>(kind: Kind, nameOf: (row: T) => string, mayChange: boolean) => ({
  state: {
    ...{ id: 'state', title: texts.columns.state, width: '9rem' },
    cell: ({ state }: T) => <StateBadge state={state} />,
  },
  used: {
    ...{ id: 'used', title: texts.columns.used, width: '9rem' },
    cell: ({ lastUseDate }: T) => (lastUseDate ? <Time value={lastUseDate} /> : texts.never),
  },
  created: {
    ...{ id: 'created', title: texts.columns.created, width: '9rem' },
    cell: ({ createdDate }: T) => <Time value={createdDate} />,
  },
  actions: mayChange
    ? [
        {
          ...{ id: 'actions', title: '', width: '4.5rem', align: 'end' as const },
          cell: (row: T) => <CredentialMenu kind={kind} id={row.id} name={nameOf(row)} state={row.state} />,
        },
      ]
    : [],
})

function basicColumns(mayChange: boolean): Column<Basic>[] {
  const { state, used, created, actions } = commonColumns<Basic>('basic', ({ username }) => username, mayChange)
  return [
    {
      ...{ id: 'username', title: texts.columns.username, width: 'minmax(12rem, 2fr)' },
      cell: ({ username }) => <Text value={username} max={80} mono />,
    },
    ...[state, used, created, ...actions],
  ]
}

function x509Columns(mayChange: boolean): Column<X509>[] {
  const { state, used, created, actions } = commonColumns<X509>('x509', ({ commonName }) => commonName, mayChange)
  return [
    {
      ...{ id: 'commonName', title: texts.columns.commonName, width: 'minmax(12rem, 2fr)' },
      cell: ({ commonName }) => <Text value={commonName} max={80} mono />,
    },
    state,
    {
      ...{ id: 'expires', title: texts.columns.expires, width: '11rem' },
      cell: (credential) => <Expiry credential={credential} />,
    },
    ...[used, created, ...actions],
  ]
}

const addressKeys = { kind: oneOf(kinds, 'basic'), q: text(), state: oneOf(['', ...states, 'expiring'], '') }

export default function CredentialsPage() {
  const address = useAddressState(addressKeys)
  const { kind, q, state } = address.values
  const may = useMay()
  const shown = kinds.filter((one) => may(scopeOf(one, 'read')))
  const create = may(scopeOf(kind, 'create')) && (
    <span data-create="">
      <LinkButton to={`/credentials/new?kind=${kind}`} look="primary" icon="plus">
        {texts.create[kind]}
      </LinkButton>
    </span>
  )
  const setFilter = (changed: Partial<typeof address.values>) => address.set(changed)
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={
          <>
            <AsCommand operation={kind === 'basic' ? 'basicCredentials.list' : 'x509Credentials.list'} />
            {create}
          </>
        }
      />
      <Tabs
        label={texts.tabs.label}
        current={kind}
        parameter="kind"
        tabs={shown.map((one) => ({
          id: one,
          title: texts.tabs[one],
        }))}
      >
        <FilterBar
          address={{
            ...address,
            isChanged: q !== '' || state !== '',
            reset: () => setFilter({ q: '', state: '' }),
          }}
        >
          <SearchBox label={texts.search[kind]} value={q} onChange={(q) => setFilter({ q })} />
          <SelectField
            label={texts.stateFilter}
            value={state}
            onChange={(state) => setFilter({ state: state as typeof address.values.state })}
            options={[
              ...states.map((value) => ({ value, label: texts.states[value] })),
              ...(kind === 'x509' ? [{ value: 'expiring', label: texts.expiring }] : []),
            ]}
            placeholder={texts.allStates}
            isCompact
          />
        </FilterBar>
        {kind === 'basic' ? (
          <BasicList q={q} state={state} create={create} />
        ) : (
          <X509List q={q} state={state} create={create} onExpiring={() => setFilter({ state: 'expiring' })} />
        )}
      </Tabs>
    </>
  )
}

interface ListProps {
  q: string
  state: string
  create: ReactNode
}

function BasicList({ q, state, create }: ListProps) {
  const may = useMay()
  const list = useList('basicCredentials.list', {})
  const items = list.items.filter(
    (row) => row.username.toLowerCase().includes(q.toLowerCase()) && (state === '' || row.state === state),
  )
  return (
    <CredentialTable
      kind="basic"
      list={{ ...list, items, total: items.length }}
      columns={basicColumns(may(scopeOf('basic', 'update')))}
      isFiltered={q !== '' || state !== ''}
      create={create}
    />
  )
}

function X509List({ q, state, create, onExpiring }: ListProps & { onExpiring(): void }) {
  const may = useMay()
  const list = useList('x509Credentials.list', {})
  const searchText = q.toLowerCase()
  const expiring = list.items.filter(isExpiring)
  const items = list.items.filter(
    (row) =>
      (row.commonName.toLowerCase().includes(searchText) || row.serialNumber.includes(searchText)) &&
      (state === '' || (state === 'expiring' ? isExpiring(row) : row.state === state)),
  )
  return (
    <>
      {expiring.length > 0 && state === '' && (
        <Note
          tone="warn"
          action={
            <Button size="small" onPress={onExpiring}>
              {texts.showThem}
            </Button>
          }
        >
          {texts.expiringNote(expiring.length)}
        </Note>
      )}
      <CredentialTable
        kind="x509"
        list={{ ...list, items, total: items.length }}
        columns={x509Columns(may(scopeOf('x509', 'update')))}
        isFiltered={q !== '' || state !== ''}
        create={create}
      />
    </>
  )
}

interface TableProps<T> {
  kind: Kind
  list: ListResult<T>
  columns: Column<T>[]
  isFiltered: boolean
  create: ReactNode
}

const CredentialTable = <T extends { id: string }>({ kind, list, columns, isFiltered, create }: TableProps<T>) => (
  <DataTable
    label={texts.tabs[kind]}
    list={list}
    columns={columns}
    rowId={({ id }) => id}
    empty={
      isFiltered ? (
        <EmptyState icon="search" title={texts.noMatchTitle}>
          {texts.noMatchText}
        </EmptyState>
      ) : (
        <EmptyState icon="key" title={texts.empty[kind].title} actions={create}>
          {texts.empty[kind].text}
        </EmptyState>
      )
    }
  />
)
